# phase-preflight as a program, with a scripted driver (tests/fake/nvml.c).

bats_require_minimum_version 1.5.0

setup() {
    BIN=${BIN:-$BATS_TEST_DIRNAME/../../build/bin}
    SRC=${SRC:-$BATS_TEST_DIRNAME/../..}
    FAKES=$BIN/../tests/fake
    DIR=$(mktemp -d /tmp/phased-test-XXXXXX)
    export TMPDIR=$DIR PHASED_NVML=$FAKES/libnvidia-ml.so FAKE_NVML=
    unset SLURM_GPUS_ON_NODE SLURM_JOB_GPUS CUDA_VISIBLE_DEVICES
    : >"$DIR/kernel.log"
    # The scratch folder is on the machine that runs the tests, and its disk may be nearly full.
    sed 's/^scratch_free_mib:.*/scratch_free_mib: 0/' "$SRC/etc/preflight.yaml" >"$DIR/all.yaml"
    # The clock also belongs to this machine, and is not tested here.
    grep -v ^clock_error_ms "$DIR/all.yaml" >"$DIR/thresholds.yaml"
}

teardown() {
    rm -rf "$DIR"
}

# The driver may take DEADLINE_MS: long, so that only a driver that hangs is late.
preflight() {
    "$BIN/phase-preflight" --thresholds "$DIR/thresholds.yaml" --kernel-log "$DIR/kernel.log" \
        --deadline-ms "${DEADLINE_MS:-60000}" "$@"
}

# row NAME OUTCOME TEXT: the last output has this row.
row() {
    gojq -e --arg n "$1" --arg o "$2" --arg t "$3" \
        '.rows[] | select(.name == $n and .outcome == $o) | select(.text | contains($t))' \
        <<<"$output" >/dev/null || { echo "no row $*"; echo "$output"; return 1; }
}

@test "eight healthy GPUs pass" {
    run -0 preflight --gpus 8 --json
    row gpus passed "8 work"
    row model passed "NVIDIA H200"
    row nvlinks passed "GPU 7: 18"
    [ "$(gojq -r .outcome <<<"$output")" = passed ]
    gojq -e '.rows | any(.name == "gpus" and .essential) and any(.name == "ecc" and .essential == false)' <<<"$output"
}

# fault SCRIPT ROW TEXT
fault() {
    FAKE_NVML=$1 run -1 preflight --gpus 8 --json
    row "$2" failed "$3"
    [ "$(gojq '[.rows[] | select(.outcome == "failed")] | length' <<<"$output")" = 1 ]
}

@test "each fault fails its own row, and the row names the GPU" {
    fault count=7 gpus "7 GPUs work, 8 are allocated"
    fault memory=2 memory "GPU 2: 9000 MiB in use, at most 512"
    fault process=4 processes "GPU 4: 1 other process, pid 4242"
    fault crowd=4 processes "GPU 4: more than 16 other processes"
    fault ecc=5 ecc "GPU 5: 5 uncorrected errors"
    fault pending=1 remap "GPU 1: a row remapping waits for a reset"
    fault remap=1 remap "GPU 1: a row could not be remapped"
    fault action=6 recovery "GPU 6 requests: reset the GPU"
    fault links=0 nvlinks "GPU 0: 17 links active, at least 18"
    fault name=3 model "GPU 3 is a NVIDIA L4, others NVIDIA H200"
}

@test "a GPU off the bus fails, whether it fell before the check or falls during it" {
    for script in lost=3 falls=3; do
        FAKE_NVML=$script run -1 preflight --gpus 8 --json
        row gpus failed "GPU 3: GPU is lost; 7 GPUs work, 8 are allocated"
    done
}

@test "only the allocated GPUs are judged, and allocated GPUs that are missing are reported" {
    FAKE_NVML=process=4 run -0 preflight --gpus 2 --devices 0,GPU-7 --json
    row gpus passed "2 work"
    FAKE_NVML=process=4 CUDA_VISIBLE_DEVICES=4 run -1 preflight --json
    row processes failed "GPU 4"
    run -1 preflight --devices 0,9 --json
    row gpus failed "1 of the devices 0,9 not found"
    run -1 preflight --devices 0,GPU --json
    row gpus failed "1 of the devices 0,GPU not found"
    run -1 preflight --model H100 --json
    row model failed "GPU 0 is a NVIDIA H200, not H100"
}

@test "no GPU is judged if it is unclear which GPUs are allocated" {
    FAKE_NVML=process=4 run -3 preflight --gpus 2 --json
    row gpus "could not tell" "8 GPUs are visible, 2 are allocated"
    row processes "could not tell" "no GPU"
    FAKE_NVML=process=4 SLURM_JOB_GPUS=3,4 run -1 preflight --gpus 2 --json
    row processes failed "GPU 4"
    FAKE_NVML=count=2 SLURM_JOB_GPUS=3,4 run -0 preflight --gpus 2 --json # confined to its own two
    run -3 preflight --devices MIG-1,MIG-2 --json
    row gpus "could not tell" "MIG"
    for none in -1 ""; do
        CUDA_VISIBLE_DEVICES=$none run -3 preflight --json
        row gpus "could not tell" "no GPU is visible"
    done
}

@test "output of the driver's library does not get into the report" {
    FAKE_NVML=loud run -0 preflight --gpus 8 --json
    [[ $output != *noise* ]]
    row gpus passed "8 work"
}

@test "a value that the driver does not support gives 'could not tell', and the node can still pass" {
    FAKE_NVML=plain run -0 preflight --gpus 8 --json
    row ecc "could not tell" "GPU 0 does not report it"
    row nvlinks "could not tell" "GPU 0 does not report it"
}

@test "a driver that lacks symbols cannot make a node pass" {
    PHASED_NVML=$FAKES/libnvidia-ml-old.so run -3 preflight --gpus 8 --json
    row gpus passed "8 work"
    row memory "could not tell" "GPU 0 does not report it"
}

@test "without a driver a node does not pass; a driver that fails, dies or hangs fails the node" {
    PHASED_NVML=/nonexistent.so run -3 preflight --json
    row gpus "could not tell" "cannot be loaded"
    FAKE_NVML=unloaded run -3 preflight --json
    row gpus "could not tell" "Driver Not Loaded"
    FAKE_NVML=count=0 run -3 preflight --json
    row gpus "could not tell" "no GPU is visible"
    FAKE_NVML=broken run -1 preflight --json
    row gpus failed "nvmlInit: Unknown"
    FAKE_NVML=die run -1 preflight --json
    row gpus failed "ended early"
    FAKE_NVML=hang DEADLINE_MS=300 run -1 preflight --json
    row gpus failed "no answer in time"
}

# xid NUMBER BUS: the kernel has just reported an XID.
xid() {
    awk -v n="$1" -v bus="$2" '{ printf "4,1,%.0f,-;NVRM: Xid (PCI:0000:%s:00): %d, pid=1, ...\n", $1 * 1e6, bus, n }' \
        /proc/uptime >"$DIR/kernel.log"
}

@test "an XID of the hardware in the kernel's log fails the node for two hours" {
    xid 79 12
    run -1 preflight --json
    row xids failed "XID 79 of PCI:0000:12:00"
    xid 31 12 # a program's own fault
    run -0 preflight --json
    row xids passed "no recent XIDs of the hardware"
    echo "4,1,0,-;NVRM: Xid (PCI:0000:12:00): 79, pid=1, ..." >"$DIR/kernel.log"
    sed -i 's/^xid_hours:.*/xid_hours: 0/' "$DIR/thresholds.yaml"
    run -0 preflight --json
    rm "$DIR/kernel.log"
    run -0 preflight --json
    row xids "could not tell" "No such file"
}

@test "XIDs that follow do not hide an XID of the hardware, and a kind counts once for each GPU" {
    xid 79 12
    mv "$DIR/kernel.log" "$DIR/hardware"
    xid 45 12 # of the driver, for each channel
    mv "$DIR/kernel.log" "$DIR/channel"
    xid 13 13 # of a program on the next GPU
    for _ in {1..99}; do cat "$DIR/channel" "$DIR/kernel.log"; done >"$DIR/follow"
    cat "$DIR/hardware" "$DIR/hardware" "$DIR/follow" >"$DIR/kernel.log"
    run -1 preflight --json
    row xids failed "XID 79 of PCI:0000:12:00"
    [ "$(grep -o 'XID 79' <<<"$output" | wc -l)" = 1 ]
    run -0 preflight --devices 0,3 --json
    row xids passed "recent XIDs only of GPUs that are not allocated: 1"
}

@test "an XID counts only for the GPU that it names" {
    xid 79 12
    run -1 preflight --devices 0,2 --json
    row xids failed "XID 79 of PCI:0000:12:00"
    run -0 preflight --devices 0,3 --json
    row xids passed "recent XIDs only of GPUs that are not allocated: 1"
    FAKE_NVML=plain run -0 preflight --devices 0,3 --json
    row xids "could not tell" "which may be a GPU of another job"
}

@test "a scratch folder that is missing or too small fails" {
    run -1 preflight --scratch "$DIR/none" --json
    row scratch failed "No such file"
    sed -i 's/^scratch_free_mib:.*/scratch_free_mib: 2147483647/' "$DIR/thresholds.yaml"
    run -1 preflight --json
    row scratch failed "MiB free, at least 2147483647"
}

@test "a path that is long or not UTF-8 stays readable in the report" {
    local long
    printf -v long 'é%.0s' {1..150}
    run -1 preflight --scratch "/none/x$long" --json
    row scratch failed "/none/xéééé"
    run -1 preflight --scratch "/none/$long" --json # one of both cuts the path within a letter
    row scratch failed "/none/éééé"
    run -1 preflight --scratch $'/none/\377' --json
    row scratch failed "/none/?: No such file"
}

@test "--observe reports a failure and exits with 0" {
    FAKE_NVML=ecc=5 run -0 preflight --observe --json
    [ "$(gojq -r '.outcome, .observe' <<<"$output" | xargs)" = "failed true" ]
    FAKE_NVML=ecc=5 run -0 preflight --observe
    [[ $output == *": failed"*"ecc        failed          GPU 5: 5 uncorrected errors, at most 0"* ]]
}

@test "the installed thresholds are found beside the program" {
    run -0 "$BIN/phase-preflight" --kernel-log "$DIR/kernel.log" --observe --json
    row model passed "NVIDIA H200"
    [[ $output != *"no thresholds for this model"* ]]
}

@test "the example prolog drains a node only for a row that failed" {
    export PATH=$BIN:$DIR:$PATH SLURMD_NODENAME=n7 SLURM_JOB_GPUS=0,5
    printf '#!/bin/bash\necho "$*" >>%s/scontrol.log\n' "$DIR" >"$DIR/scontrol"
    chmod +x "$DIR/scontrol"
    FAKE_NVML=ecc=4 run -0 "$SRC/etc/prolog/preflight" # another job's GPU
    PHASED_NVML=/nonexistent.so run -0 "$SRC/etc/prolog/preflight"
    FAKE_NVML=count=0 SLURM_JOB_GPUS='' run -0 "$SRC/etc/prolog/preflight"
    [ ! -e "$DIR/scontrol.log" ]
    FAKE_NVML=ecc=5 run -1 "$SRC/etc/prolog/preflight"
    [ "$(cat "$DIR/scontrol.log")" = \
        "update NodeName=n7 State=DRAIN Reason=preflight: ecc failed GPU 5: 5 uncorrected errors, at most 0" ]
}

@test "the GPUs are printed for gres.conf, with the devices that the driver names" {
    local i
    for i in 4 5 6; do ln -s /dev/null "$DIR/nvidia$i"; done
    export PHASED_DEV=$DIR
    FAKE_NVML=count=3,minors=4,name=1 run -0 preflight --gres
    [ "$output" = "Name=gpu Type=h200 File=$DIR/nvidia4
Name=gpu Type=l4 File=$DIR/nvidia5
Name=gpu Type=h200 File=$DIR/nvidia6" ]
}

# no_gres SCRIPT STATUS TEXT
no_gres() {
    FAKE_NVML=$1 run "-$2" --separate-stderr preflight --gres
    [ -z "$output" ]
    [[ $stderr == "phase-preflight: "*"$3"* ]]
}

@test "GPUs that Slurm cannot give to jobs are not printed for gres.conf" {
    ln -s /dev/null "$DIR/nvidia0"
    : >"$DIR/nvidia1"
    export PHASED_DEV=$DIR
    no_gres count=0 3 "the driver has no GPU"
    no_gres unloaded 3 "Driver Not Loaded"
    DEADLINE_MS=500 no_gres hang 1 "the driver: no answer in time"
    no_gres broken 1 "the driver: nvmlInit: Unknown"
    no_gres count=1,lost=0 1 "GPU 0 does not answer: GPU is lost"
    no_gres count=1,mig=0 1 "GPU 0 is split by MIG"
    no_gres count=1,plain 1 "GPU 0: the driver does not say which device it is"
    no_gres count=2 1 "GPU 1 has no device $DIR/nvidia1"
}

@test "mistakes in the thresholds are reported with their places" {
    printf 'memory_used_mib: much\nmodels:\n  - nvlinks: 18\nspeed: 3\n' >"$DIR/thresholds.yaml"
    run -2 preflight
    [[ $output == *"thresholds.yaml:1:18: memory_used_mib: "* ]]
    [[ $output == *"thresholds.yaml:3:"*"needs a \`match\`"* ]]
    [[ $output == *"thresholds.yaml:4:1: speed: unknown threshold"* ]]
}

@test "a wrong option is refused" {
    run -2 preflight --level deep
    [[ $output == *"--level deep: use quick or full"* ]]
    run -2 preflight --gpus many
    DEADLINE_MS=-1 run -2 preflight
    run -2 preflight extra
}
