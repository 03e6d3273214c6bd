"""Whether `run` and `join` of the guides' workflows do what they are for, before anybody pays for it.

Each script is run as the worker would, with the params of the resolved file, in a folder with stubs
in the place of the guides' programs: they print what they are given, or what the program prints.
Python that stands in a script is compiled. Prints TAP.
"""

import json
import os
import subprocess
import sys
import tempfile

SOURCE = os.path.abspath(
    os.environ.get("SRC", os.path.join(os.path.dirname(__file__), "..", "..")))
PHASECTL = os.path.abspath(
    os.path.join(os.environ.get("BIN", os.path.join(SOURCE, "build/bin")), "phasectl"))
COMPILE = "import sys; compile(%s, 'script', 'exec')"

# In PATH: whatever is called tells how it was.
STUBS = {
    "python": """
        case $1 in
        -c) python3 -c "%s" "$2"; echo "python -c" ;;
        -) python3 -c "%s"; : >"$PHASED_OUT/labels.jsonl"; echo "python -" ;;
        -m) echo "python $*" ;;
        *) exec python3 "$@" ;;
        esac""" % (COMPILE % "sys.argv[1]", COMPILE % "sys.stdin.read()"),
    "uv": 'if [ "$1 $2 $3" = "run python -c" ]; then shift; exec "$@"; fi; echo "uv $*"',
    "torchrun": 'echo "torchrun $*"; cat nanochat/gpt.py',
    "phase-worker": 'echo "phase-worker $*"',
}

# What lies in the folder where a workflow is submitted.
CREATE_DATA = """
import argparse
parser = argparse.ArgumentParser()
for name in "input_file output_file temperature tensor_parallel_size".split():
    parser.add_argument("--" + name, required=True)
args = parser.parse_args()
def LLM(**options):
    print("LLM", sorted(options.items()))
LLM(
    model="teacher",
    tensor_parallel_size=int(args.tensor_parallel_size),
    trust_remote_code=True,
    gpu_memory_utilization=0.90,  # of each GPU
    max_model_len=32768,  # as in training
)
open(args.output_file, "w").write('{"messages": []}\\n')
"""
TRAIN_H100 = """
import sys
print(*sys.argv[1:])
print("✅ Flash Attention available")
print("✅ Applied TorchAO FP8 quantization")
print("Step 500: loss=3.2, lr=3.00e-05, tokens/sec=260000, MFU=31.2%")
print("✅ Val loss: 3.0650 | Perplexity: 21.43")
print("💾 New best model saved! Loss: 3.0650")
"""
GPT = "    supervision_weight_base: float = 2.5  # balanced\n" \
      "    improvement_reward_scale: float = 1.5\n"

# What is run, the files that are there, and the lines that must, or with ! must not, come of it.
CASES = [
    ("trm-two-phase.yaml", "", "prepare", "run", {},
     ["uv run python -m nanochat.dataset -n 100", "python -c"]),
    ("trm-two-phase.yaml", "", "production", "run",
     {".venv/bin/activate": "", "nanochat/gpt.py": GPT, "scripts/base_train.py": ""},
     ["--nproc_per_node=8 -m scripts.base_train -- --depth=12", "--total_batch_size=262144",
      "--embedding_lr=0.005 ", "--model_tag=OUT --resume_from_step=-1",
      "supervision_weight_base: float = 10", "improvement_reward_scale: float = 2", "!1.5"]),
    ("prompt-distillation.yaml", "pipeline", "generate", "run", {"create_data.py": CREATE_DATA},
     ["('gpu_memory_utilization', 0.9), ('max_model_len', 32768)", "('pipeline_parallel_size', 2)",
      "('tensor_parallel_size', 4)"]),
    ("prompt-distillation.yaml", "", "generate", "run", {"create_data.py": "# another one"},
     ["exits with 1"]),
    ("prompt-distillation.yaml", "two_groups", "generate", "join",
     {"out/part-0-of-2.jsonl": "a\n", "out/part-1-of-2.jsonl": "b\n", "out/part-0-of-1.jsonl": "c\n",
      "../tinker-cookbook/example-data/multilingual.txt": "1\n2\n3\n"},
     ["phase-worker metric step=1 valid=2 total=3"]),
    ("prompt-distillation.yaml", "", "convert", "run", {}, ["python -c"]),
    ("prompt-distillation.yaml", "", "train", "run", {"train_sft_h100x8.sh": 'echo "$@"'},
     ["OUT data.train_files=IN/train.parquet", "data.micro_batch_size_per_gpu=16 "
      "data.train_batch_size=128 model.enable_gradient_checkpointing=false",
      "trainer.save_freq=8 trainer.resume_mode=auto"]),
    ("prompt-distillation.yaml", "", "evaluate", "run", {},
     ["verl.model_merger merge --backend fsdp --local_dir CHECKPOINT", "python -",
      "phase-worker metric step=1 valid=0 total=200"]),
    ("h100-mfu.yaml", "", "selftest", "run", {"test_optimized_model.py": "print('fine')"},
     ["fine", "!exits"]),
    ("h100-mfu.yaml", "", "selftest", "run",
     {"test_optimized_model.py": "print('❌ TorchAO test failed: no')"}, ["exits with 1"]),
    ("h100-mfu.yaml", "", "train", "run", {"train_h100_optimized.py": TRAIN_H100},
     ["--batch_size 64 --gradient_accumulation_steps 4 --learning_rate 0.0006",
      "--max_hours 1.5", "--output_dir OUT", "phase-worker metric step=0 fp8=1",
      "phase-worker metric step=0 flash=1", "phase-worker metric saved_loss=3.0650", "!exits"]),
    ("h100-mfu.yaml", "", "train", "run", {"train_h100_optimized.py": "raise SystemExit(3)"},
     ["exits with 3"]),
]


def phase_of(file, variant, name):
    run = subprocess.run(
        [PHASECTL, "check", os.path.join(SOURCE, "etc/workflows", file), "--print"]
        + (["--with", variant] if variant else []), capture_output=True, text=True, check=True)
    return [phase for phase in json.loads(run.stdout)["phases"] if phase["name"] == name][0]


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def environment(phase, names):
    """Params as they are written, and what the worker says besides."""
    values = {name: value if isinstance(value, str) else json.dumps(value)
              for name, value in phase["params"].items()}
    return dict(os.environ, **values, **phase["env"], PATH=names["bin"] + ":" + os.environ["PATH"],
                PHASED_OUT=names["OUT"], PHASED_IN_prepare=names["IN"],
                PHASED_IN_generate=names["IN"], PHASED_IN_convert=names["IN"],
                PHASED_CHECKPOINT_train=names["CHECKPOINT"], PHASED_RESUME="", PHASED_SHARD="0",
                PHASED_SHARDS=str((phase["parallel"] or {}).get("data", 1)),
                PHASED_SHARD_FILE=names["IN"] + "/shard", PYTHONIOENCODING="utf-8")


def try_case(case, folder):
    """What the script prints, with the folders called by their names."""
    file, variant, name, key, files, _ = case
    phase = phase_of(file, variant, name)
    names = {"bin": folder + "/bin", "OUT": folder + "/work/out", "IN": folder + "/in",
             "CHECKPOINT": folder + "/checkpoint"}
    for path in names.values():
        os.makedirs(path)
    for stub, text in STUBS.items():
        write(os.path.join(names["bin"], stub), "#!/bin/bash\nset -e\n" + text + "\n")
        os.chmod(os.path.join(names["bin"], stub), 0o755)
    for path, text in files.items():
        write(os.path.join(folder, "work", path), text)
    run = subprocess.run(["bash", "-eu", "-o", "pipefail", "-c", phase[key]],
                         cwd=folder + "/work", env=environment(phase, names), text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    text = run.stdout + ("exits with %d\n" % run.returncode if run.returncode else "")
    for short in ("CHECKPOINT", "OUT", "IN"):
        text = text.replace(names[short], short)
    return text


def main():
    print("1..%d" % len(CASES))
    has_failed = False
    for number, case in enumerate(CASES, 1):
        with tempfile.TemporaryDirectory() as folder:
            text = try_case(case, folder)
        faults = [line for line in case[5] if (line.lstrip("!") in text) == line.startswith("!")]
        has_failed = has_failed or bool(faults)
        print("%sok %d - %s: %s of %s%s leads to: %s" % (
            "not " if faults else "", number, case[0], case[3], case[2],
            case[1] and " with " + case[1], case[5][0]))
        for fault in faults:
            print("# not as wanted: %s\n# %s" % (fault, text.strip().replace("\n", "\n# ")))
    sys.exit(1 if has_failed else 0)


main()
