/* Recognising failures: what programs print when they fail, and which entry of the catalogue
 * matches. The excerpts have the form that these programs print; names and numbers are made up. */
#include "tests/unit/unit.h"

#include "lib/failures/catalogue.h"
#include "lib/failures/recognizer.h"
#include "lib/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *builtin(void)
{
    struct spec_problems problems = {0};
    json_t *catalogue = catalogue_read(NULL, 0, &problems);
    assert_int_equal(problems.count, 0);
    return catalogue;
}

static const char *text_at(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* --- The built-in catalogue ------------------------------------------------------------------- */

static void the_built_in_catalogue_has_no_problems(void **state)
{
    (void)state;
    /* As a file of the user, so that its problems are reported. */
    struct spec_problems problems = {0};
    struct text lines = {0};
    json_t *catalogue =
        catalogue_read(catalogue_builtin_text, strlen(catalogue_builtin_text), &problems);
    spec_problems_text(&problems, &lines);
    assert_string_equal(text_string(&lines), "");
    assert_true(json_array_size(catalogue) > 50);
    const json_t *entry;
    size_t i;
    json_array_foreach(catalogue, i, entry)
    {
        const char *advice = text_at(entry, "advice");
        if (strlen(advice) < 20 || advice[strlen(advice) - 1] != '.')
            fail_msg("%s: the advice must be sentences: %s", text_at(entry, "name"), advice);
        assert_string_not_equal(text_at(entry, "title"), text_at(entry, "name"));
    }
    json_decref(catalogue);
    text_fini(&lines);
    spec_problems_fini(&problems);
}

/* The names of causes, and the name of the line that shows the failure; NULL: no line does. */
static const struct {
    const char *excerpt, *name, *cause, *line;
} excerpts[] = {
    {"Traceback (most recent call last):\n"
     "  File \"/home/u/train.py\", line 212, in <module>\n    loss.backward()\n"
     "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total "
     "capacity of 79.11 GiB of which 1.06 GiB is free.\n",
     "cuda_oom", "oom", "torch.OutOfMemoryError: CUDA"},
    {"torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 3; 79.15 "
     "GiB total capacity)\n",
     "cuda_oom", "oom", "torch.cuda"},
    {"RuntimeError: CUDA error: out of memory\n", "cuda_oom", "oom", NULL},
    {"[CUDA ERROR] at file train_gpt2.cu:512:\nout of memory\n", "cuda_oom", "oom",
     "out of memory"},
    {"n1:83:91 [0] transport.cc:154 NCCL WARN Cuda failure 2 'out of memory'\n", "cuda_oom", "oom",
     "n1:83"},
    {"torch.OutOfMemoryError: HIP out of memory. Tried to allocate 1.00 GiB\n", "cuda_oom", "oom",
     NULL},
    {"2026-05-18 21:59:55.0: W external/xla/xla/tsl/framework/bfc_allocator.cc:310] Allocator "
     "(GPU_0_bfc) ran out of memory trying to allocate 3.37GiB. The caller indicates that this is "
     "not a failure\n"
     "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to "
     "allocate 3199993600 bytes.\nBufferAssignment OOM Debugging.\n",
     "xla_oom", "oom", "jaxlib"},
    {"RuntimeError: Resource exhausted: Failed to allocate request for 32.00MiB on device\n",
     "xla_oom", "oom", NULL},
    {"RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`\n",
     "cublas_alloc", "oom", NULL},
    {"(EngineCore_DP0 pid=223840) ERROR 10-25 13:08:43 [core.py:708] Traceback (most recent call "
     "last):\n"
     "(EngineCore_DP0 pid=223840) ERROR 10-25 13:08:43 [core.py:708] ValueError: No available "
     "memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing\n"
     "RuntimeError: Engine core initialization failed. See root cause above.\n",
     "kv_cache", "oom", "(EngineCore_DP0"},
    {"ValueError: The model's max seq len (32768) is larger than the maximum number of tokens that "
     "can be stored in KV cache (13616).\n",
     "kv_cache", "oom", NULL},
    {"ValueError: To serve at least one request with the models's max seq len (262144), (36.00 GiB "
     "KV cache is needed, which is larger than the available KV cache memory (20.1 GiB).\n",
     "kv_cache", "oom", NULL},
    {"ValueError: Free memory on device (10.1/79.1 GiB) on startup is less than desired GPU memory "
     "utilization (0.9, 71.2 GiB).\n",
     "gpu_memory_taken", "oom", NULL},
    {"slurmstepd: error: Detected 1 oom_kill event in StepId=440575.0. Some of the step tasks have "
     "been OOM Killed.\nsrun: error: n7: tasks 1-3: Out Of Memory\n",
     "host_oom", "oom", "slurmstepd"},
    {"n1: task 0: Out Of Memory\n", "host_oom", "oom", NULL},
    {"run.sh: line 2: 4711 Killed                  python train.py\n"
     "exited with code 137: a process was killed by the kernel's OOM killer\n",
     "host_oom", "oom", "exited with"},
    {"RuntimeError: DataLoader worker (pid 2048) is killed by signal: Killed.\n", "host_oom", "oom",
     NULL},
    {"numpy._core._exceptions._ArrayMemoryError: Unable to allocate 298. GiB for an array\n",
     "host_alloc", "oom", NULL},
    {"MemoryError\n", "host_alloc", "oom", NULL},
    {"phase-model: the host has no 5742 MiB of free memory\n", "host_alloc", "oom", NULL},
    {"RuntimeError: DataLoader worker (pid 99) is killed by signal: Bus error. It is possible that "
     "dataloader's workers are out of shared memory.\n",
     "shared_memory", "exit", NULL},
    {"n1:7:7 [0] misc/shmutils.cc:72 NCCL WARN Error while creating shared memory segment "
     "/dev/shm/nccl-abc (size 9637888)\nncclSystemError: System call failed.\n",
     "shared_memory", "exit", "n1:7:7"},
    {"RuntimeError: CUDA error: uncorrectable ECC error encountered\n", "gpu_ecc", "node_fail",
     NULL},
    {"[17.3] NVRM: Xid (PCI:0000:1b:00): 79, pid=1234, GPU has fallen off the bus.\n", "gpu_lost",
     "node_fail", NULL},
    {"Unable to determine the device handle for GPU0000:1B:00.0: Unknown Error\n", "gpu_lost",
     "node_fail", NULL},
    {"GPU 0 is no longer sampled: Unknown Error\n", "gpu_lost", "node_fail", NULL},
    {"GPU 3 is no longer sampled: GPU is lost\n", "gpu_lost", "node_fail", NULL},
    {"GPU 0 is no longer sampled: Insufficient Permissions\n", NULL, NULL, NULL},
    {"NVRM: Xid (PCI:0000:c1:00): 48, pid=9, An uncorrectable double bit error (DBE)\n", "gpu_ecc",
     "node_fail", NULL},
    {"NVRM: Xid (PCI:0000:c1:00): 119, Timeout waiting for RPC from GSP!\n", "gpu_xid", "node_fail",
     NULL},
    {"NVRM: Xid (PCI:0000:c1:00): 31, pid=9, name=python, Ch 00000008, MMU Fault\n",
     "gpu_xid_program", "exit", NULL},
    {"RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: system not yet "
     "initialized\n",
     "gpu_not_ready", "node_fail", NULL},
    {"Failed to initialize NVML: Driver/library version mismatch\n", "gpu_driver_mixed",
     "node_fail", NULL},
    {"RuntimeError: CUDA error: CUDA-capable device(s) is/are busy or unavailable\n", "gpu_busy",
     "launch", NULL},
    {"RuntimeError: No CUDA GPUs are available\n", "no_gpu", "exit", NULL},
    {"RuntimeError: The NVIDIA driver on your system is too old (found version 11040).\n",
     "cuda_driver", "exit", NULL},
    {"cudaErrorInsufficientDriver: CUDA driver version is insufficient for CUDA runtime version\n",
     "cuda_driver", "exit", NULL},
    {"RuntimeError: CUDA error: no kernel image is available for execution on the device\n",
     "cuda_build", "exit", NULL},
    {"AssertionError: Torch not compiled with CUDA enabled\n", "cuda_build", "exit", NULL},
    {"/pytorch/aten/src/ATen/native/cuda/Indexing.cu:1236: indexSelectSmallIndex: block: [0,0,0] "
     "Assertion `srcIndex < srcSelectDimSize` failed.\n"
     "RuntimeError: CUDA error: device-side assert triggered\n",
     "cuda_code", "exit", "/pytorch"},
    {"[rank5]: torch.AcceleratorError: CUDA error: an illegal memory access was encountered\n"
     "[rank5]: CUDA kernel errors might be asynchronously reported at some other API call\n",
     "cuda_code", "exit", "[rank5]"},
    {"n1:5:5 [1] init.cc:1358 NCCL WARN Duplicate GPU detected : rank 1 and rank 0 both on CUDA "
     "device 1b000\ntorch.distributed.DistBackendError: NCCL error in: x.cpp:77, invalid usage\n",
     "two_ranks_one_gpu", "exit", "n1:5:5"},
    {"n1:3468:3905 [4] transport/net_ib.cc:1615 NCCL WARN NET/IB : Got completion from peer "
     "10.0.0.1<54862> with status=12 opcode=0 len=0 vendor err 129 (Recv)\n"
     "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1970, remote process "
     "exited or there was a network error\n",
     "nccl_ib", "node_fail", "n1:3468"},
    {"[E1107 21:22:46 ProcessGroupNCCL.cpp:616] [Rank 2] Watchdog caught collective operation "
     "timeout: WorkNCCL(SeqNum=9, OpType=ALLREDUCE) ran for 600059 milliseconds before timing "
     "out.\n"
     "[rank2]:[E1107 21:22:46] To avoid data inconsistency, we are taking the entire process "
     "down.\nterminate called after throwing an instance of 'c10::DistBackendError'\n"
     "  what():  [PG 0 Rank 2] Process group watchdog thread terminated with exception\n"
     "was killed by signal 6 (Aborted)\n",
     "nccl_timeout", "hang", "[E1107"},
    {"phase-model: rank 1 did not answer in time\n", "nccl_timeout", "hang", NULL},
    {"phase-model: rank 1: GPU 1: computing: not done in time\n", "nccl_timeout", "hang", NULL},
    {"phase-model: the GPU of rank 3 (n2) is behind the others: sum 1841 was not reached in time\n",
     "nccl_timeout", "hang", "phase-model: the GPU of rank 3 (n2)"},
    /* What phase-model prints. The words after the last colon are those of NVIDIA's libraries. */
    {"phase-model: GPU 0 has no 4096 MiB of free memory\n", "cuda_oom", "oom", NULL},
    {"phase-model: rank 1: GPU 1 has no 32 MiB of free memory\nphase-model: rank 1 is gone: it "
     "closed its connection\n",
     "cuda_oom", "oom", "phase-model: rank 1: GPU 1 has"},
    {"phase-model: GPU 0: out of memory\n", "cuda_oom", "oom", NULL},
    {"phase-model: rank 3: GPU 3: allocating memory: out of memory\n", "cuda_oom", "oom", NULL},
    {"phase-model: GPU 0: rank 1: joining a group: unhandled cuda error (run with NCCL_DEBUG=INFO "
     "for details): Failed to CUDA calloc async 608 bytes\n",
     "cuda_oom", "oom", NULL},
    {"phase-model: GPU 0: making 16 MiB of pinned memory: out of memory\n", "host_alloc", "oom",
     NULL},
    {"phase-model: cuBLASLt: beginning: the resource allocation failed\n", "cublas_alloc", "oom",
     NULL},
    {"phase-model: works without CUDA graphs: GPU 0: capturing: out of memory\n", NULL, NULL, NULL},
    {"phase-model: the host has no 9 MiB for a copy of the state: the training waits while a "
     "checkpoint is written\n",
     NULL, NULL, NULL},
    {"phase-model: GPU 2: computing: uncorrectable ECC error encountered\n", "gpu_ecc", "node_fail",
     NULL},
    {"phase-model: GPU 2: computing: unknown error\n", "gpu_library", "exit", NULL},
    {"phase-model: cuBLASLt: multiplying matrices: the function failed to launch on the GPU\n",
     "gpu_library", "exit", NULL},
    {"phase-model: no GPU can be used: CUDA finds no GPU\n", "no_gpu", "exit", NULL},
    {"phase-model: there is no GPU 5: 2 are visible\n", "no_gpu", "exit", NULL},
    {"phase-model: no GPU can be used: there is no NVIDIA driver\n", "no_gpu", "exit", NULL},
    {"phase-model: no GPU can be used: CUDA driver version is insufficient for CUDA runtime "
     "version\n",
     "cuda_driver", "exit", NULL},
    {"phase-model: --device cuda: /opt/phase-model-gpu is missing (built without CUDA)\n",
     "cuda_build", "exit", NULL},
    {"phase-model: GPU 0: exclusive-thread device already in use by a different thread\n",
     "gpu_busy", "launch", NULL},
    {"phase-model: only 7 of 8 ranks came in time\n", "rendezvous", "launch", NULL},
    {"phase-model: could not connect to rank 0 at n1 port 29500: Connection refused\n",
     "rendezvous", "launch", NULL},
    {"phase-model: GPU 0: rank 1: adding over the ranks: unhandled system error (run with "
     "NCCL_DEBUG=INFO for details): Call to recv from 10.0.0.2 failed\n",
     "nccl_remote", "exit", NULL},
    {"phase-model: GPU 0: rank 1: joining a group: internal error - please report this issue to "
     "the "
     "NCCL developers: \n",
     "nccl_remote", "exit", NULL},
    {"phase-model: rank 1 is gone: it closed its connection\n", "nccl_remote", "exit", NULL},
    {"[rank0]: torch.distributed.DistBackendError: NCCL error in: /torch/NCCLUtils.hpp:268, remote "
     "process exited or there was a network error, NCCL version 2.21.5\n"
     "[rank0]: ncclRemoteError: A call failed possibly due to a network error or a remote process "
     "exiting prematurely.\n",
     "nccl_remote", "exit", "[rank0]: torch"},
    {"RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:525] Connection closed by peer "
     "[10.0.0.2]:5\n",
     "nccl_remote", "exit", NULL},
    {"torch.distributed.DistStoreError: Timed out after 901 seconds waiting for clients. 1/2 "
     "clients joined.\n",
     "rendezvous", "launch", NULL},
    {"torch.distributed.DistNetworkError: The client socket has failed to connect to any network "
     "address of (n1, 29500).\n",
     "rendezvous", "launch", NULL},
    {"torch.distributed.DistNetworkError: The server socket has failed to listen on any local "
     "network address. port: 29500, useIpv6: false, code: -98, name: EADDRINUSE, message: address "
     "already in use\n",
     "address_in_use", "launch", NULL},
    {"OSError: [Errno 98] Address already in use\n", "address_in_use", "launch", NULL},
    {"Loss is nan, stopping training\n", "not_finite", "nan", NULL},
    {"FloatingPointError: Loss became infinite or NaN at iteration=312!\n", "not_finite", "nan",
     NULL},
    {"RuntimeError: Rank 3, node n1, device 3, iteration 17: Unexpected result nan (message='found "
     "NaN in local forward loss calculation')\n",
     "not_finite", "nan", NULL},
    {"RuntimeError: Function 'MulBackward0' returned nan values in its 0th output.\n", "not_finite",
     "nan", NULL},
    {"OSError: [Errno 122] Disk quota exceeded: '/home/u/out/step_100.pt'\n", "disk_quota", "exit",
     NULL},
    {"RuntimeError: [enforce fail at inline_container.cc:659] . unexpected pos 64 vs 0\n"
     "OSError: [Errno 28] No space left on device\n",
     "no_space", "exit", "OSError"},
    {"OSError: [Errno 116] Stale file handle: '/data/x.bin'\n", "file_system", "node_fail", NULL},
    {"cat: /lustre/x: Input/output error\n", "file_system", "node_fail", NULL},
    {"OSError: [Errno 30] Read-only file system: '/opt/cache'\n", "read_only", "exit", NULL},
    {"RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central "
     "directory\n",
     "checkpoint_damaged", "exit", NULL},
    {"RuntimeError: Error(s) in loading state_dict for GPT:\n\tsize mismatch for wte.weight: "
     "copying a param with shape torch.Size([50304, 768]) from checkpoint\n",
     "checkpoint_other", "exit", "RuntimeError"},
    {"OSError: [Errno 24] Too many open files: 'x'\n", "too_many_files", "exit", NULL},
    {"RuntimeError: can't start new thread\n", "too_many_processes", "exit", NULL},
    {"ModuleNotFoundError: No module named 'flash_attn'\n", "missing_module", "exit", NULL},
    {"ImportError: libcudart.so.12: cannot open shared object file: No such file or directory\n",
     "missing_library", "exit", NULL},
    {"ImportError: cannot import name 'x' from 'transformers'\n", "import_failed", "exit", NULL},
    {"run.sh: line 3: iterations: unbound variable\n", "unbound_variable", "exit", NULL},
    {"Lmod has detected the following error:  The following module(s) are unknown: \"cuda/99\"\n\n"
     "Please check the spelling or version number. Also try \"module spider ...\"\n\n"
     "Also make sure that all modulefiles written in TCL start with the string\n#%Module\n\n\n",
     "environment_module", "exit", "Lmod has detected"},
    {"The following module(s) are unknown: \"cuda/99\"\n", "environment_module", "exit", NULL},
    {"ERROR: Unable to locate a modulefile for 'cuda/99'\n", "environment_module", "exit", NULL},
    {"run.sh: line 1: torchrun: command not found\n", "command_missing", "exit", NULL},
    {"train.py: error: unrecognized arguments: --dept=12\n", "bad_arguments", "exit", NULL},
    {"huggingface_hub.errors.GatedRepoError: 401 Client Error. Cannot access gated repo\n",
     "authentication", "exit", NULL},
    {"wandb.errors.UsageError: api_key not configured (no-tty). call wandb.login(key=[your_key])\n",
     "authentication", "exit", NULL},
    {"huggingface_hub.errors.HfHubHTTPError: 429 Client Error: Too Many Requests for url: x\n",
     "too_many_requests", "exit", NULL},
    {"OSError: We couldn't connect to 'https://huggingface.co' to load the files\n", "network",
     "exit", NULL},
    {"requests.exceptions.ConnectionError: HTTPSConnectionPool(host='h', port=443): Max retries "
     "exceeded with url: /x\n",
     "network", "exit", NULL},
    {"srun: error: Unable to create step for job 12: More processors requested than permitted\n",
     "slurm_step", "exit", NULL},
    {"srun: error: Task launch for StepId=22.1 failed on node n2: Communication connection "
     "failure\n"
     "srun: error: Application launch failed: Communication connection failure\n"
     "srun: Job step aborted: Waiting up to 7 seconds for job step to finish.\n"
     "slurmstepd-n1: error: *** STEP 22.1 ON n1 CANCELLED AT 2026-11-23T15:28:04 ***\n"
     "srun: error: n1: task 0: Killed\n",
     "slurm_launch", "node_fail", NULL},
    {"PermissionError: [Errno 13] Permission denied: '/tmp/triton'\n", "permission", "exit", NULL},
    {"FileNotFoundError: [Errno 2] No such file or directory: 'data/train.bin'\n", "missing_file",
     "exit", NULL},
    {"run.sh: line 1: 4711 Bus error               (core dumped) ./train\n", "bus_error", "exit",
     NULL},
    {"was killed by signal 11 (Segmentation fault)\n", "segmentation_fault", "exit", NULL},
    {"run.sh: line 1: 4711 Killed                  ./train\n", "killed", "exit", NULL},
    {"terminate called after throwing an instance of 'std::runtime_error'\n", "aborted", "exit",
     NULL},
    {"Traceback (most recent call last):\n  File \"x.py\", line 1, in f\nKeyError: 'a'\n\n"
     "During handling of the above exception, another exception occurred:\n\n"
     "Traceback (most recent call last):\n  File \"x.py\", line 9, in <module>\n"
     "ValueError: no such option: a\n",
     "python", "exit", "ValueError"},
    {"[rank3]: Traceback (most recent call last):\n[rank3]:   File \"t.py\", line 1\n"
     "[rank3]: my.errors.ShapeError: (3, 4)\n",
     "python", "exit", "[rank3]: my"},
    {"AssertionError\n", "python", "exit", NULL},
    {"[CUDA ERROR] at file train_gpt2.cu:1234:\nout of memory\n", "cuda_oom", "oom", "out"},
    {"[CUDA ERROR] at file train_gpt2.cu:1234: out of memory\n", "cuda_oom", "oom", NULL},
    {"RuntimeError: Triton Error [CUDA]: out of memory\n", "cuda_oom", "oom", NULL},
    {"ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\n",
     "host_oom", "oom", NULL},
    {"Memory cgroup out of memory: Killed process 123 (python)\n", "host_oom", "oom", NULL},
    {"RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasGemmEx`\n",
     "gpu_library", "exit", NULL},
    {"Assertion `srcIndex < srcSelectDimSize` failed.\nRuntimeError: cuDNN error: "
     "CUDNN_STATUS_INTERNAL_ERROR\n",
     "cuda_code", "exit", "Assertion"},
    {"RuntimeError: CUDA error: Invalid access of peer GPU memory over nvlink or a hardware "
     "error\n",
     "nccl_remote", "exit", NULL},
    {"Exception: Current loss scale already at minimum - cannot decrease scale anymore.\n",
     "not_finite", "nan", NULL},
    {"ValueError: Detected nan and/or inf values in `layer.weight` (epoch 0).\n", "not_finite",
     "nan", NULL},
    {"RuntimeError: The total norm of order 2.0 for gradients from `parameters` is non-finite, so "
     "it cannot be clipped.\n",
     "not_finite", "nan", NULL},
    {"Non-finite loss at step 1200, aborting\n", "not_finite", "nan", NULL},
    {"RuntimeError: [enforce fail at inline_container.cc:595] . PytorchStreamWriter failed writing "
     "file data/12: file write failed\n",
     "checkpoint_unwritten", "exit", NULL},
    {"safetensors_rust.SafetensorError: Error while serializing: I/O error: Disk quota exceeded "
     "(os error 122)\n",
     "disk_quota", "exit", NULL},
    {"OSError: /data/model does not appear to have a file named config.json.\n", "missing_file",
     "exit", NULL},
    {"ray.exceptions.RayTaskError(ValueError): ray::main_task() (pid=1, ip=10.0.0.1)\n", "python",
     "exit", NULL},
    {"torch._dynamo.exc.Unsupported: call_function BuiltinVariable\n", "python", "exit", NULL},
    {"  | ValueError: one of a group\n", "python", "exit", NULL},
    {"StopIteration\n", "python", "exit", NULL},
    /* Lines that show no failure. */
    {"step 12 loss 4.5 lr 0.001\nsaved /out/step_12\n", NULL, NULL, NULL},
    {"/opt/x.py:3: UserWarning: the out of memory handler is deprecated\n", NULL, NULL, NULL},
    {"n1:1:1 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB ib0:10.0.0.1<0>\n", NULL, NULL,
     NULL},
    {"WARNING: NaN or Inf found in input tensor.\nskipping a non-finite gradient\n", NULL, NULL,
     NULL},
    {"transformers.trainer.Trainer: resuming\n    raise ValueError(x)\n", NULL, NULL, NULL},
    {"error rate 0.25, nan_to_num applied, loss 3.1 is finite\n", NULL, NULL, NULL},
};

static void excerpts_of_logs_are_recognised(void **state)
{
    (void)state;
    json_t *catalogue = builtin();
    struct recognizer *recognizer = recognizer_new(catalogue);
    unsigned wrong = 0;
    for (size_t i = 0; i < sizeof excerpts / sizeof *excerpts; i++) {
        struct finding finding;
        const char *excerpt = excerpts[i].excerpt, *name = NULL, *cause = NULL;
        if (recognizer_look(recognizer, excerpt, strlen(excerpt), &finding)) {
            name = text_at(finding.entry, "name");
            cause = text_at(finding.entry, "cause");
        }
        bool is_right = excerpts[i].name ? name && text_equal(name, excerpts[i].name) &&
                                               text_equal(cause, excerpts[i].cause)
                                         : !name;
        if (is_right && name)
            is_right = text_starts(finding.line, excerpts[i].line ? excerpts[i].line : "") &&
                       finding.line[0];
        if (!is_right)
            print_error("%s (%s), not %s: %.70s\n", name ? name : "nothing", cause ? cause : "",
                        excerpts[i].name ? excerpts[i].name : "nothing", excerpt);
        wrong += !is_right;
    }
    assert_int_equal(wrong, 0);
    recognizer_free(recognizer);
    json_decref(catalogue);
}

/* --- Which line counts ------------------------------------------------------------------------ */

static const char small_text[] = "trouble: {pattern: TROUBLE, cause: oom, advice: less}\n"
                                 "sign: {pattern: SIGN, tells: sign}\n"
                                 "echo: {pattern: ECHO, tells: consequence}\n";

/* Adds a line of a rank's log, so many seconds after its beginning. */
static void add_line(struct text *text, unsigned second, const char *line)
{
    text_addf(text, "2026-11-20T12:%02u:%02u.250Z %s\n", second / 60, second % 60, line);
}

static void the_strongest_line_counts_and_then_the_first_or_last(void **state)
{
    (void)state;
    static const struct {
        const char *lines, *found;
    } rows[] = {
        {"ECHO 1|SIGN 1|TROUBLE 1|SIGN 2", "TROUBLE 1"},
        {"TROUBLE 1|TROUBLE 2", "TROUBLE 1"},
        {"ECHO 1|SIGN 1|SIGN 2|ECHO 2", "SIGN 2"},
        {"ECHO 1|ECHO 2", "ECHO 1"},
        {"\033[31mTROUBLE\033[0m\twith colours\r", "TROUBLE with colours"},
        {"\033]0;python train.py\aTROUBLE\033(B\033[m after a title", "TROUBLE after a title"},
        {"nothing|at all", NULL},
        {"", NULL},
    };
    struct spec_problems problems = {0};
    json_t *catalogue = catalogue_read(small_text, strlen(small_text), &problems);
    struct recognizer *recognizer = recognizer_new(catalogue);
    assert_int_equal(problems.count, 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct finding finding;
        struct text text = {0};
        char *copy = strdup(rows[i].lines), *rest = copy, *line;
        for (unsigned second = 1; (line = strsep(&rest, "|")); second++)
            add_line(&text, second, line);
        bool is_found = recognizer_look(recognizer, text_string(&text), text.size, &finding);
        assert_int_equal(is_found, rows[i].found != NULL);
        if (is_found)
            assert_string_equal(finding.line, rows[i].found);
        if (is_found)
            assert_true(text_starts(finding.time, "2026-11-20T12:00:0"));
        text_fini(&text);
        free(copy);
    }
    recognizer_free(recognizer);
    json_decref(catalogue);
}

static void a_line_after_which_the_rank_went_on_does_not_count(void **state)
{
    (void)state;
    static const struct {
        unsigned first, every, count; /* lines after the trouble, in seconds */
        bool counts;
    } rows[] = {
        {11, 1, 40, true},    /* all within a minute: a long traceback */
        {10, 5, 60, false},   /* the rank trained on */
        {100, 30, 12, false}, /* the same, slowly */
        {600, 1, 3, true},    /* the rank hung, then others complained */
        {65, 1, 8, true},
    };
    struct spec_problems problems = {0};
    json_t *catalogue = catalogue_read(small_text, strlen(small_text), &problems);
    struct recognizer *recognizer = recognizer_new(catalogue);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct finding finding;
        struct text text = {0};
        add_line(&text, 0, "TROUBLE");
        for (unsigned line = 0; line < rows[i].count; line++)
            add_line(&text, rows[i].first + line * rows[i].every, "step");
        add_line(&text, rows[i].first + rows[i].count * rows[i].every, "ECHO");
        assert_true(recognizer_look(recognizer, text_string(&text), text.size, &finding));
        assert_string_equal(finding.line, rows[i].counts ? "TROUBLE" : "ECHO");
        text_fini(&text);
    }
    recognizer_free(recognizer);
    json_decref(catalogue);
}

static void a_finding_can_be_shown_to_people(void **state)
{
    (void)state;
    json_t *catalogue = builtin();
    struct recognizer *recognizer = recognizer_new(catalogue);
    struct finding finding;
    struct text text = {0};
    text_add(&text, "[rank12]: ValueError: ");
    for (int i = 0; i < 500; i++)
        text_add(&text, "\xc3\xa4"); /* the letter must not be cut */
    assert_true(recognizer_look(recognizer, text_string(&text), text.size, &finding));
    assert_int_equal(finding.rank, 12);
    json_t *line = json_string(finding.line);
    assert_non_null(line);
    assert_true(strlen(finding.line) > FINDING_LINE_MAX - 4);
    json_decref(line);
    text_clear(&text);
    text_add(&text, "ValueError: \xff\x01 end");
    assert_true(recognizer_look(recognizer, text_string(&text), text.size, &finding));
    assert_string_equal(finding.line, "ValueError: ? end");
    assert_int_equal(finding.rank, -1);
    text_fini(&text);
    recognizer_free(recognizer);
    json_decref(catalogue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_built_in_catalogue_has_no_problems),
        cmocka_unit_test(excerpts_of_logs_are_recognised),
        cmocka_unit_test(the_strongest_line_counts_and_then_the_first_or_last),
        cmocka_unit_test(a_line_after_which_the_rank_went_on_does_not_count),
        cmocka_unit_test(a_finding_can_be_shown_to_people),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
