#!/usr/bin/env bats
# Runs in containers of podman. The image is made of the programs of this machine, without a
# registry.

load phased.bash

# image_root FOLDER: a root with bash and the programs that the tests use.
image_root() {
    local program library
    mkdir -p "$1"/{bin,tmp,etc,proc,sys,dev}
    for program in bash cat env id mkdir mv sleep touch; do
        cp "$(command -v "$program")" "$1/bin/"
        ldd "$(command -v "$program")" | grep -oE '/[^ ]+' | while read -r library; do
            mkdir -p "$1${library%/*}"
            cp -Ln "$library" "$1$library"
        done
    done
    ln -s bash "$1/bin/sh"
}

# Settings of podman for this machine: images in the sandbox, and limits that this user may set. They
# are exported first, so that podman never works on the storage of whoever runs the tests.
podman_settings() {
    export CONTAINERS_STORAGE_CONF=$SANDBOX/podman/storage.conf
    export CONTAINERS_CONF=$SANDBOX/podman/containers.conf XDG_RUNTIME_DIR=$SANDBOX/podman
    mkdir -p "$SANDBOX/podman"
    cat >"$SANDBOX/podman/storage.conf" <<CONF
[storage]
driver = "vfs"
graphroot = "$SANDBOX/podman/images"
runroot = "$SANDBOX/podman/run"
CONF
    cat >"$SANDBOX/podman/containers.conf" <<CONF
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
[engine]
runtime = "$1"
CONF
}

# `podman system reset` would also remove the networks and the machines of whoever runs the tests. The
# files of images belong to other users of a namespace of podman, unless root runs the tests.
podman_down() {
    is_of_test "${CONTAINERS_STORAGE_CONF:-}" && [ -e "$CONTAINERS_STORAGE_CONF" ] || return 0
    podman rm --all --force >/dev/null 2>&1 || true
    podman rmi --all --force >/dev/null 2>&1 || true
    if [ "$(id -u)" = 0 ]; then
        rm -rf "$SANDBOX/podman"
    else
        podman unshare rm -rf "$SANDBOX/podman"
    fi
}

# Makes $IMAGE, and says why podman starts no container here.
podman_up() {
    local runtime ids=()
    [ "$(id -u)" = 0 ] || ids=(--userns=keep-id)
    [ "$(id -u)" != 0 ] || mkdir -p /dev/mqueue # podman mounts it, and small kernels have no mqueue
    export IMAGE=$SANDBOX/image.tar
    image_root "$SANDBOX/root"
    for runtime in crun runc; do
        podman_settings $runtime
        tar -C "$SANDBOX/root" -c . | podman import --quiet - localhost/phased-test:1 >/dev/null 2>&1 &&
            podman --cgroup-manager=cgroupfs run --rm --network=host --ipc=host --pid=host "${ids[@]}" \
                localhost/phased-test:1 /bin/bash -c 'exit 0' 2>"$SANDBOX/podman/why" || continue
        podman save --quiet --output "$IMAGE" localhost/phased-test:1
        podman rmi --force localhost/phased-test:1 >/dev/null
        return
    done
    skip_all "podman cannot start a container here: $(tail -n 1 "$SANDBOX/podman/why")"
}

setup_file() {
    command -v podman >/dev/null || { skip_all "podman is not installed"; return; }
    sandbox_up 2
    scontrol update PartitionName=preempt GraceTime=60 # a container of a busy machine saves slowly
    podman_up
}
teardown_file() {
    podman_down
    sandbox_down
}
setup() {
    skips
    home_up
    export TMPDIR=$PHASED_HOME/tmp
    mkdir -p "$TMPDIR"
    phasectl daemon start
}
teardown() { home_down; }

# phase NAME SCRIPT [KEYS]: a phase in the image.
phase() {
    cat <<SPEC
  $1:
    resources: {gpus: h100:2, time: 10m}
    preflight: off
    on_fail: fail
    container: {image: $IMAGE, runtime: podman, mounts: ["$PHASED_HOME:/home_of_phased:ro"]}
    ${3:-}
    run: |
$(sed 's/^/      /' <<<"$2")
SPEC
}

workflow() {
    echo 'name: container'
    echo 'phases:'
    phase "$@"
}

no_container_is_left() {
    [ -z "$(podman ps --all --quiet)" ] && ! compgen -G "$TMPDIR/phased-image-*"
}

out() { echo "$PHASED_HOME/runs/1/$1/out"; }

@test "each rank finds its variables and its folders, and phased reads what it says" {
    export NCCL_DEBUG=WARN MINE='with space' CONDA_PREFIX=/host
    mkdir "$TMPDIR/bin"
    printf '#!/bin/bash\necho "$1" >>"%s"\nexec %s "$@"\n' "$TMPDIR/podman" "$(command -v podman)" \
        >"$TMPDIR/bin/podman"
    chmod +x "$TMPDIR/bin/podman"
    PATH=$TMPDIR/bin:$PATH
    workflow train '
        env >"$PHASED_OUT/env-$RANK"; id -u >"$PHASED_OUT/user-$RANK"
        [[ ! -e /usr/bin/perl && -d /home_of_phased/runs ]]
        if touch /home_of_phased/written; then exit 1; fi
        echo "{\"metric\": {\"step\": 1, \"values\": {\"told\": 4}}}" >>"$PHASED_CHANNEL"
        echo step=1 loss=2.5 width=$width' 'launch: rank
    params: {width: 7}
    env: {PATH: /bin}
    gate: {loss: last(loss) == 2.5, told: last(told) == 4}' | submit
    eventually 180 state 1 succeeded
    for rank in 0 1; do
        grep -qx "RANK=$rank" "$(out train)/env-$rank"
        grep -qx "CUDA_VISIBLE_DEVICES=0,1" "$(out train)/env-$rank"
        for line in NCCL_DEBUG=WARN 'MINE=with space' width=7 SLURM_JOB_ID=1 WORLD_SIZE=2 \
            "PATH=/bin:.*" "PHASED_OUT=$(out train)"; do
            grep -qx "$line" "$(out train)/env-$rank"
        done
        [ "$(grep -c ^CONDA_PREFIX "$(out train)/env-$rank")" = 0 ]
        [ "$(cat "$(out train)/user-$rank")" = "$(id -u)" ]
        [ "$(stat -c %u "$(out train)/env-$rank")" = "$(id -u)" ]
    done
    [ "$(grep -cx load "$TMPDIR/podman")" = 1 ] # for both ranks
    eventually 60 no_container_is_left
}

@test "the exit code of the program is that of the rank" {
    workflow train 'bash -c "exit 7"' | submit
    eventually 180 state 1 failed
    phasectl why 1/train | grep -q 'exited with code 7'
    eventually 60 no_container_is_left
}

# A program that saves when it is told to stop, as the last command of a script and in its place.
saver='trap "sleep 1; echo saved >\"\$PHASED_OUT/m_5.new\"; mv \"\$PHASED_OUT/m_5.new\" \"\$PHASED_OUT/m_5.ckpt\"; exit 0" TERM
echo step=5 loss=1
touch "$PHASED_OUT/started"
while sleep 0.1; do :; done'

@test "a preempted program saves in the time for that, and goes on from its checkpoint" {
    for way in '' exec; do
        workflow train "if [[ \$PHASED_RESUME ]]; then cat \"\$PHASED_RESUME\" >\"\$PHASED_OUT/resumed$way\"; exit 0; fi
$way bash -c '$saver'" 'checkpoint: {path: "$PHASED_OUT/m_{step}.ckpt", save_time: 30s}' >"$TMPDIR/spec.yaml"
        id=$(submit <"$TMPDIR/spec.yaml")
        eventually 180 test -e "$PHASED_HOME/runs/$id/train/out/started"
        srun -p prod -N 2 --gres=gpu:h100:8 --job-name=preemptor sleep 2
        eventually 180 state "$id" succeeded
        [ "$(cat "$PHASED_HOME/runs/$id/train/out/resumed$way")" = saved ]
        [ "$(record "SELECT outcome FROM run ORDER BY id DESC LIMIT 1 OFFSET 1")" = preempted ]
    done
    eventually 60 no_container_is_left
}

@test "a cancelled program that ignores its signals leaves no container" {
    workflow train 'trap "" TERM; touch "$PHASED_OUT/started"; while sleep 0.1; do :; done' \
        'checkpoint: {path: "$PHASED_OUT/m_{step}.ckpt", save_time: 2s}' | submit
    eventually 180 test -e "$(out train)/started"
    [ "$(podman ps --quiet | wc -l)" = 1 ]
    phasectl cancel 1
    eventually 180 state 1 cancelled
    eventually 60 no_container_is_left
}

@test "a runtime or an image that is missing fails with a message, before any rank starts" {
    workflow train 'touch "$PHASED_OUT/started"' | sed 's/runtime: podman/runtime: enroot/; s/image.tar/image.sqsh/' |
        submit
    eventually 180 state 1 failed
    phasectl why 1/train | grep -q 'cannot read .*image.sqsh'
    workflow train 'touch "$PHASED_OUT/started"' | sed "s/runtime: podman/runtime: enroot/; s,$IMAGE,some/image:1," |
        submit
    eventually 180 state 2 failed
    phasectl why 2/train | grep -q 'no enroot on PATH'
    [ -z "$(find "$PHASED_HOME/runs" -name started)" ]
}
