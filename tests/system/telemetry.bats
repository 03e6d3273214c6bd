#!/usr/bin/env bats
# Telemetry of a run without Slurm: the lead, an agent and its sampler, with a scripted driver
# (tests/fake/nvml.c) that does what the test writes into a file.

load worker/helpers

setup() {
    worker_setup
    driver=${BIN:-$source_dir/build/bin}/../tests/fake/libnvidia-ml.so
    drive ""
}

teardown() {
    worker_teardown
}

# drive WORDS: what the GPUs do from now on.
drive() {
    echo "$1" >"$home/.words"
    mv "$home/.words" "$home/words"
}

# new_gpu_run SPEC-MEMBERS: run 1, with the GPUs of the scripted driver.
new_gpu_run() {
    new_run 1 "{\"env\": {\"PHASED_NVML\": \"$driver\", \"FAKE_NVML_FILE\": \"$home/words\"},
        \"resources\": {\"nodes\": 1, \"gpus\": 8}, \"launch\": \"node\", $1}"
}

# Runs until the test makes the file `enough`.
until_told="\"run\": \"until [ -e $BATS_TEST_TMPDIR/enough ]; do sleep 0.05; done\""

told() {
    journal 1 n1 "$1" | grep -q .
}

# warned TEXT: a warning of the node contains this text.
warned() {
    told "select(.type == \"warning\" and (.message | contains(\"$1\")))"
}

sampler_is_gone() {
    ! grep -lzFsx -- --detach /proc/[0-9]*/cmdline | cut -d/ -f3 |
        while read -r pid; do grep -lzFs "$home" "/proc/$pid/environ"; done | grep -q .
}

@test "a guard on gpu_util watches the GPUs, and stops a run whose GPUs become idle" {
    new_gpu_run "$until_told, \"guards\": {
        \"busy\": {\"value\": \"last(gpu_util)\", \"at_least\": 50},
        \"each\": {\"value\": \"last(gpu_util_min)\", \"at_least\": 80, \"else\": \"warn\"},
        \"cool\": {\"value\": \"max(gpu_power_w)\", \"at_most\": 600, \"else\": \"warn\"},
        \"room\": {\"value\": \"gpu_mem_gb\", \"at_most\": 120}}"
    drive used=70000
    start_lead 1
    await told 'select(.type == "guard" and .verdict.name == "cool" and .verdict.outcome == "failed")'
    [ -z "$(journal 1 n1 'select(.type == "guard" and .verdict.name == "each" and .verdict.outcome == "failed")')" ]
    drive used=70000,idle=2 # seven of eight are busy: that is 85 % of all, and 0 of one
    await told 'select(.type == "guard" and .verdict.name == "each" and .verdict.outcome == "failed")'
    drive util=12
    await_lead 1
    [ "$(outcome 1 '[.outcome, .cause, .guard.name, .guard.value]')" = '["failed","guard","busy",12]' ]
    # The node has reported its eight GPUs, with means and, since the run failed, its last seconds.
    [ "$(journal 1 n1 'select(.type == "gpus") | [(.gpus | length), .models[7], .memory_mib[0]]')" = '[8,"NVIDIA H200",140000]' ]
    [ "$(journal 1 n1 'select(.type == "sample" and .seconds == 10) | .power_w[7]' | sort -u)" = 657 ]
    [ "$(journal 1 n1 'select(.type == "sample" and .seconds == 1) | .util[0]' | tail -n 1)" = 12 ]
    [ "$(journal 1 n1 'select(.type == "sample" and .seconds == 1) | .util[0]' | head -n 1)" = 97 ]
    [ "$(journal 1 n1 'select(.type == "sample" and .seconds == 1) | .tensor_active[0]' | tail -n 1)" = 42 ]
    # A span is incomplete at the begin and the end of a run, when spans become longer, and when the
    # driver is slow.
    local seen last
    seen=$(journal 1 n1 'select(.type == "sample" and .seconds == 10) | .sampled // 10' | gojq -s add)
    last=$(journal 1 n1 'select(.type == "sample" and .seconds == 1) | .from' | wc -l)
    [ "$seen" = "$last" ] || [ "$seen" -gt 60 ] # at most 60 single seconds are told
    await sampler_is_gone
}

@test "a GPU that falls off the bus and an Xid are reported, and the other GPUs are still sampled" {
    new_gpu_run "$until_told, \"guards\": {
        \"seen\": {\"value\": \"count(gpu_util)\", \"at_most\": 2, \"else\": \"warn\"}}"
    drive xid=79,storm=40
    start_lead 1
    await warned "GPU 1 reported Xid 79"
    drive lost=3
    await warned "GPU 3 is no longer sampled: GPU is lost"
    await told 'select(.type == "guard")'
    : >"$BATS_TEST_TMPDIR/enough"
    await_lead
    [ "$(outcome 1 .outcome)" = succeeded ]
    # All 40 reports came before the GPU was lost.
    [ "$(journal 1 n1 'select(.type == "warning") | .message | select(contains("Xid"))' | wc -l)" = 1 ]
    # A run that ends well reports no last seconds. Its mean includes all samples of each GPU.
    [ "$(journal 1 n1 'select(.type == "sample" and .seconds == 1)' | wc -l)" = 0 ]
    [ "$(journal 1 n1 'select(.type == "sample") | .xid[1]' | tail -n 1)" = 79 ]
    [ "$(journal 1 n1 'select(.type == "sample") | .util[4]' | tail -n 1)" = 97 ]
    await sampler_is_gone
}

@test "a driver's report about a GPU explains a failure that the program blames on itself" {
    catalogue=$("$(dirname "$worker")/phasectl" failures --file "$home/none" --json | gojq -c '{failures: .}')
    new_run 1 "{\"env\": {\"PHASED_NVML\": \"$driver\", \"FAKE_NVML_FILE\": \"$home/words\"},
        \"resources\": {\"nodes\": 1, \"gpus\": 8}, \"launch\": \"node\", \"run\": $(script "
        until [ -e $home/fail ]; do sleep 0.05; done
        echo 'RuntimeError: CUDA error: unspecified launch failure'
        exit 1")}" "$catalogue"
    start_lead 1
    await told 'select(.type == "gpus")'
    drive xid=79
    await warned "GPU 1 reported Xid 79"
    : >"$home/fail"
    await_lead 1
    [ "$(outcome 1 '[.cause, .failure.name, .failure.rank, .failure.blame, .node]')" = \
        '["node_fail","gpu_lost",null,"node","n1"]' ]
    [ "$(outcome 1 .message)" = "the node lost a GPU on n1: GPU 1 reported Xid 79" ]
    # An Xid of the program's own mistakes does not.
    drive ""
    rm "$home/fail"
    gojq '.run = 2 | .attempt = 2 | .run_dir |= sub("/1$"; "/2")' "$home/phase/1/run.json" >"$home/again.json"
    new_run 2 '{"run": "true"}'
    cp "$home/again.json" "$home/phase/2/run.json"
    start_lead 2
    await grep -q gpus "$home/phase/2/journal/n1.jsonl"
    drive xid=31
    await grep -q 'reported Xid 31' "$home/phase/2/journal/n1.jsonl"
    : >"$home/fail"
    await_lead 1
    [ "$(outcome 2 '[.cause, .failure.name, .node]')" = '["exit","cuda_code",null]' ]
    # The driver also had 1.5 s after the failure to report it.
    failed=$(date +%s.%N -d "$(grep -h 'CUDA error' "$home/phase/2/log/"* | cut -d' ' -f1)")
    [ "$(outcome 2 ".ended - $failed >= 1.5")" = true ]
}

@test "GPUs that stay idle for long are named, and a warning says when they work again" {
    new_gpu_run "$until_told, \"idle_s\": 3"
    drive idle=2
    start_lead 1
    await warned "GPU 2 is idle: busy for 0.0 % of the last 3 s"
    drive util=1
    await warned "GPUs 0-1, 3-7 are idle: busy for "
    drive ""
    await warned "all 8 GPUs work again, after "
    : >"$BATS_TEST_TMPDIR/enough"
    await_lead
    [ "$(outcome 1 .outcome)" = succeeded ]
    [ "$(journal 1 n1 'select(.type == "warning")' | wc -l)" = 3 ]
}

@test "a driver that does not answer is reported once, and the run goes on to its end" {
    new_gpu_run "$until_told"
    start_lead 1
    await told 'select(.type == "gpus")'
    drive mute
    await warned "the driver of the GPUs has not answered for"
    : >"$BATS_TEST_TMPDIR/enough"
    await_lead
    [ "$(outcome 1 .outcome)" = succeeded ]
    await sampler_is_gone
}

@test "MFU is computed from the model of the GPUs and the printed tokens, and guards judge it" {
    local program="until [ -e $BATS_TEST_TMPDIR/enough ]; do echo step=\$((++step)) tok_s=400000; sleep 0.05; done"
    new_gpu_run "\"run\": \"step=0; $program\",
        \"mfu\": {\"params\": 1.5e9, \"layers\": 48, \"width\": 1600, \"sequence\": 1024},
        \"guards\": {
            \"fast\": {\"value\": \"last(mfu)\", \"at_least\": 60, \"else\": \"warn\"},
            \"many\": {\"value\": \"last(tokens_per_s)\", \"at_most\": 1000, \"else\": \"warn\"}}"
    start_lead 1
    await told 'select(.type == "guard" and .verdict.name == "fast" and .verdict.outcome == "failed")'
    await told 'select(.type == "guard" and .verdict.name == "many" and .verdict.outcome == "failed")'
    : >"$BATS_TEST_TMPDIR/enough"
    await_lead
    # 400,000 * (6 * 1.5e9 + 12 * 48 * 1600 * 1024) of 8 * 989e12 operations
    [ "$(journal 1 n1 'select(.type == "metric") | .values | [.tokens_per_s, .mfu] | select(.[1])' | sort -u)" = '[400000,50.27]' ]
    [ "$(journal 1 n1 'select(.type == "warning")')" = "" ]

    # Without a driver the model of the GPUs is unknown.
    new_run 2 '{"env": {"PHASED_NVML": "/nowhere/libnvidia-ml.so.1"}, "run": "echo step=1 tok_s=400000",
        "mfu": {"params": 1.5e9, "layers": 48, "width": 1600, "sequence": 1024}}'
    start_lead 2
    await_lead
    [ "$(journal 2 n1 'select(.type == "warning") | .message')" = "mfu cannot be computed: no driver names the GPUs; set mfu.peak_tflops to what one GPU can do" ]
    [ "$(journal 2 n1 'select(.type == "metric") | .values | keys')" = '["tok_s","tokens_per_s"]' ]
}

@test "the samplers of earlier runs of a job leave no process behind" {
    start_daemon
    new_run 1 '{"run": "true"}' '{"linger_s": 20}'
    new_run 2 "{\"run\": $(script 'echo $PPID >agent; until [ -e go ]; do sleep 0.05; done')}" '{"linger_s": 20}'
    command_lead 1 1 "{\"verb\": \"next\", \"run_dir\": \"$home/phase/2\", \"when\": \"ended\"}"
    command_lead 2 1 '{"verb": "end", "when": "ended"}'
    start_lead 1
    await test -s "$home/agent"
    local heir
    heir=$(cut -d' ' -f4 "/proc/$(cat "$home/agent")/stat")
    no_zombie() { ! grep -qsE "^[0-9]+ \(.*\) Z $heir " /proc/[0-9]*/stat; }
    await no_zombie
    touch "$home/go"
    await_lead
}

@test "a run without a driver has no samples and no warnings about them" {
    new_run 1 '{"env": {"PHASED_NVML": "/nowhere/libnvidia-ml.so.1"}, "run": "echo step=1 loss=1"}'
    start_lead 1
    await_lead
    [ "$(outcome 1 .outcome)" = succeeded ]
    [ "$(journal 1 n1 .type | sort -u | xargs)" = "exited metric ranks" ]
    [ "$(journal 1 n1 'select(.type == "metric") | .values | keys[]')" = loss ]
}
