#!/usr/bin/env bats
# The sandbox: a private Slurm that starts, is repaired, and leaves nothing behind.

setup() {
    folder=$(mktemp -d /tmp/phased-test-XXXXXX)
    command -v slurmctld slurmd munged >/dev/null || PATH=$PATH:/usr/sbin
    command -v slurmctld slurmd munged >/dev/null || skip "Slurm's daemons are not installed"
    SRC=${SRC:-$BATS_TEST_DIRNAME/../..}
    sandbox=$SRC/etc/sandbox/sandbox
    unset SLURM_CONF
}

teardown() {
    local conf
    kill $(jobs -pr) 2>/dev/null || true
    find "$folder" -name slurm.conf | while read -r conf; do
        "$sandbox" stop "${conf%/slurm.conf}" || true
    done
    rm -rf "$folder"
}

# Prints the processes that name this test's folder. A zombie that nobody reaps names nothing.
leftovers() {
    grep -lzFs "$folder" /proc/[0-9]*/cmdline /proc/[0-9]*/environ | while read -r path; do
        case $(cat "${path%/*}/comm") in
        slurm* | munged | srun | sleep) echo "$path" ;;
        esac
    done 2>/dev/null
}

wait_for() {
    local end=$((SECONDS + 240))
    until "$@"; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.1
    done
}

kill_part() {
    local pid
    pid=$(cat "$folder/a/pid/$1")
    kill -KILL "$pid"
    wait_for test ! -e "/proc/$pid/exe"
}

running_jobs_are() {
    [ "$(squeue -h -t running | wc -l)" = "$1" ]
}

@test "a sandbox has four idle nodes with eight GPUs each, and runs a job on them" {
    "$sandbox" start "$folder/a"
    export SLURM_CONF=$folder/a/slurm.conf
    [ "$(sinfo -h -p prod -o '%D %t %G')" = "4 idle gpu:h100:8" ]
    [ "$(sinfo -h -p preempt -o '%D %t %G')" = "4 idle gpu:h100:8" ]
    run srun -Q -N 2 --gres=gpu:h100:4 sh -c 'echo $CUDA_VISIBLE_DEVICES'
    [ "$output" = $'0,1,2,3\n0,1,2,3' ]
}

@test "status exits with 0 if every part runs, and with 3 otherwise" {
    run "$sandbox" status "$folder/a"
    [ "$status" = 3 ]
    "$sandbox" start "$folder/a" --nodes 1
    run "$sandbox" status "$folder/a"
    [ "$status" = 0 ]
    [[ "$output" = *slurmctld*running*n1*running*"export SLURM_CONF=$folder/a/slurm.conf"* ]]
    kill_part n1
    run "$sandbox" status "$folder/a"
    [ "$status" = 3 ]
    [[ "$output" = *n1*"not running"* ]]
}

@test "a command that takes long does not lengthen the wait for it" {
    eval "$(sed -n '/^await() {/,/^}/p' "$sandbox")"
    asked_slowly() { sleep 1; echo >>"$folder/asked"; false; }
    run await 1 asked_slowly
    [ "$status" = 1 ]
    [ "$(wc -l <"$folder/asked")" -le 3 ]
}

@test "a second start changes nothing, and says so" {
    "$sandbox" start "$folder/a" --nodes 1
    before=$(cat "$folder"/a/pid/*)
    run "$sandbox" start "$folder/a"
    [ "$status" = 0 ]
    [[ "$output" = *"already running"* ]]
    [ "$(cat "$folder"/a/pid/*)" = "$before" ]
}

@test "start waits for a part that begins slowly, and not for a part that has died" {
    mkdir "$folder/bin"
    printf '#!/bin/bash\n[ -e "%s" ] || { sleep 7; exec "%s" "$@"; } &\n' "$folder/dies" "$(command -v slurmd)" \
        >"$folder/bin/slurmd"
    printf '#!/bin/bash\necho >>"%s"\nexec "%s" "$@"\n' "$folder/slept" "$(command -v sleep)" >"$folder/bin/sleep"
    chmod +x "$folder"/bin/*
    PATH=$folder/bin:$PATH "$sandbox" start "$folder/a" --nodes 1
    "$sandbox" stop "$folder/a"
    touch "$folder/dies"
    rm "$folder/slept"
    PATH=$folder/bin:$PATH run "$sandbox" start "$folder/a" --nodes 1
    [ "$status" = 1 ]
    [ "$(wc -l <"$folder/slept")" -lt 300 ] # ten in a second at most
}

@test "start repairs the parts that have died, and keeps the job that runs" {
    "$sandbox" start "$folder/a" --nodes 2
    export SLURM_CONF=$folder/a/slurm.conf
    sbatch -Q -N 1 -w n1 -o /dev/null --wrap "touch $folder/up; sleep 1000"
    wait_for test -e "$folder/up"
    # A controller that is stopped properly saves its state. A killed controller may forget what
    # ran.
    controller=$(cat "$folder/a/pid/slurmctld")
    kill -TERM "$controller"
    kill_part n2
    wait_for test ! -e "/proc/$controller/exe"
    "$sandbox" start "$folder/a"
    [ "$(squeue -h -o '%t %N')" = "R n1" ]
}

@test "start names drained nodes, and a node that is not ready ends no job on another node" {
    "$sandbox" start "$folder/a" --nodes 3
    export SLURM_CONF=$folder/a/slurm.conf
    sbatch -Q -N 1 -w n1 -o /dev/null --wrap 'sleep 1000'
    wait_for running_jobs_are 1
    before=$(cat "$folder"/a/pid/*)
    scontrol update NodeName=n1,n2 State=DRAIN Reason=test
    run "$sandbox" start "$folder/a"
    [ "$status" = 0 ]
    [[ "${lines[0]}" = *"already running"* ]]
    [[ "${lines[1]}" = "sandbox: drained, so that no job begins there: n1,n2 "*"NodeName=n1,n2 State=RESUME"* ]]
    # A node that Slurm does not give to a partition stands for a node that does not become ready.
    scontrol update PartitionName=prod Nodes=n1,n2
    run "$sandbox" start "$folder/a"
    [ "$status" = 1 ]
    [[ "$output" = "sandbox: all parts run, but not all nodes are ready: n1 drng,n2 drain "* ]]
    [ "$(cat "$folder"/a/pid/*)" = "$before" ]
    [ "$(squeue -h -o '%i %t %N')" = "1 R n1" ]
}

@test "two sandboxes side by side do not see each other's jobs" {
    "$sandbox" start "$folder/a" --nodes 1
    "$sandbox" start "$folder/b" --nodes 1
    SLURM_CONF=$folder/a/slurm.conf sbatch -Q -H -o /dev/null --wrap 'sleep 1'
    [ "$(SLURM_CONF=$folder/a/slurm.conf squeue -h | wc -l)" = 1 ]
    [ "$(SLURM_CONF=$folder/b/slurm.conf squeue -h | wc -l)" = 0 ]
    "$sandbox" stop "$folder/a"
    "$sandbox" status "$folder/b"
}

@test "stop leaves no process and no socket, even if jobs ignore signals" {
    "$sandbox" start "$folder/a" --nodes 1
    export SLURM_CONF=$folder/a/slurm.conf
    sbatch -Q -o "$folder/out" --wrap "trap '' TERM; srun sh -c 'trap \"\" TERM; echo up; sleep 1000; true' $folder"
    wait_for grep -qs up "$folder/out"
    kill_part slurmctld
    "$sandbox" stop "$folder/a"
    [ -z "$(leftovers)" ]
    [ -z "$(find "$folder" -type s)" ]
}

@test "stop leaves the processes of a user alone who works in a job of another Slurm" {
    "$sandbox" start "$folder/a" --nodes 1
    SLURM_CONF=$folder/a/slurm.conf SLURMD_NODENAME=gpu17 sleep 1000 3>&- &
    other=$!
    SLURM_CONF=$folder/a/slurm.conf SLURMD_NODENAME=gpu17 "$sandbox" stop "$folder/a"
    kill -0 "$other"
    kill "$other"
}

@test "the queue survives stop and start, and a job that ran is queued again" {
    "$sandbox" start "$folder/a" --nodes 1
    export SLURM_CONF=$folder/a/slurm.conf
    sbatch -Q -o /dev/null --wrap 'sleep 1000'
    sbatch -Q -H -o /dev/null --wrap 'sleep 1'
    wait_for running_jobs_are 1
    port=$(grep SlurmctldPort "$folder/a/slurm.conf")
    "$sandbox" stop "$folder/a"
    "$sandbox" start "$folder/a" --nodes 1
    [ "$(grep SlurmctldPort "$folder/a/slurm.conf")" = "$port" ]
    [ "$(squeue -h -o '%i %t' | sort)" = $'1 PD\n2 PD' ]
}

@test "a long path with a space works, and leaves no link behind" {
    long="$folder/a folder with a name that is far too long for the path of a socket/and one more/s"
    "$sandbox" start "$long" --nodes 1
    [ "$(SLURM_CONF=$long/slurm.conf srun echo ran)" = ran ]
    link=$(sed -n 's/^StateSaveLocation=\(.*\)\/state$/\1/p' "$long/slurm.conf")
    [ -h "$link" ]
    "$sandbox" stop "$long"
    [ ! -h "$link" ]
}

@test "a pid file that names the process of somebody else does no harm" {
    "$sandbox" start "$folder/a" --nodes 1
    "$sandbox" stop "$folder/a"
    mkdir -p "$folder/a/pid"
    sleep 1000 3>&- &
    other=$!
    echo "$other" >"$folder/a/pid/slurmctld"
    "$sandbox" stop "$folder/a"
    kill -0 "$other"
    kill "$other"
}

# Runs a command as another user.
as_other() {
    timeout 60 setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}

need_other() {
    [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null || skip "only root can be another user"
}

@test "another user cannot reach munge, run a job or read a file of the sandbox" {
    need_other
    chmod 755 "$folder"
    "$sandbox" start "$folder/a" --nodes 1
    cp "$folder/a/slurm.conf" "$folder/copy.conf"
    chmod 644 "$folder/copy.conf"
    [ "$(SLURM_CONF=$folder/copy.conf srun echo ran)" = ran ]
    run as_other munge -n -S "$folder/a/munge/socket"
    [ "$status" != 0 ]
    SLURM_CONF=$folder/copy.conf run as_other srun echo ran
    [ "$status" != 0 ]
    [[ "$output" != *ran* ]]
    run as_other find "$folder/a" -mindepth 1
    [[ "$output" = *"ermission denied"* ]]
    [ "${#lines[@]}" = 1 ]
}

@test "start closes a folder that others could read" {
    mkdir -m 755 "$folder/a"
    "$sandbox" start "$folder/a" --nodes 1
    [ "$(stat -c %a "$folder/a" "$folder/a/munge" | paste -sd' ')" = '700 700' ]
}

@test "a folder of another user, or a folder that others may write to or replace, is refused" {
    mkdir -m 777 "$folder/a"
    run "$sandbox" start "$folder/a"
    [ "$status" = 1 ]
    [ "$output" = "sandbox: others may write to $folder/a: check that everything in it is yours, then 'chmod 700' it" ]
    mkdir "$folder/open"
    chmod 777 "$folder/open"
    run "$sandbox" start "$folder/open/a"
    [ "$status" = 1 ]
    [ "$output" = "sandbox: others may write to $folder/open and put another folder in place of $folder/open/a: use a folder elsewhere" ]
    need_other
    mkdir "$folder/theirs"
    chown 65534 "$folder/theirs"
    run "$sandbox" start "$folder/theirs/a"
    [ "$status" = 1 ]
    [ "$output" = "sandbox: $folder/theirs belongs to nobody, who could put another folder in place of $folder/theirs/a: use a folder elsewhere" ]
    chmod 700 "$folder/a"
    chown 65534 "$folder/a"
    run "$sandbox" start "$folder/a"
    [ "$status" = 1 ]
    [ "$output" = "sandbox: $folder/a belongs to nobody: use a folder of your own" ]
}

@test "a link to the script works" {
    ln -s "$sandbox" "$folder/link"
    run "$folder/link" status "$folder"
    [ "$status" = 3 ]
}

@test "status ends even if the PATH has no programs" {
    run timeout 60 env PATH="$folder/empty" "$BASH" "$sandbox" status "$folder"
    [ "$status" = 3 ]
}

@test "a link in /tmp that another user has made is not followed" {
    need_other
    long="$folder/a folder with a name that is far too long for the path of a socket"
    mkdir "$long"
    link=/tmp/phased-$(id -u)-$(cksum <<<"$long" | cut -d' ' -f1)
    ln -s "$folder/elsewhere" "$link"
    chown -h 65534 "$link"
    for action in start status stop; do
        run "$sandbox" "$action" "$long"
        [ "$status" = 1 ]
        [ "$output" = "sandbox: $link is in the way: remove it" ]
    done
    rm "$link"
}

# --- The GPUs of this machine, which a scripted driver has (tests/fake/nvml.c) -------------------

# gpus [OPTION...]: starts a sandbox with the real GPUs. FAKE_NVML says which GPUs there are. The
# devices of six GPUs exist: nvidia2 to nvidia7.
gpus() {
    local i bin=${BIN:-$BATS_TEST_DIRNAME/../../build/bin}
    export PHASED_NVML=$bin/../tests/fake/libnvidia-ml.so PHASED_DEV=$folder/dev
    export PHASED_SITE_PLACES=$folder/etc/slurm.conf # not those of the machine that runs the tests
    if [ ! -e "$folder/dev" ]; then
        mkdir "$folder/dev"
        for i in 2 3 4 5 6 7; do ln -s /dev/null "$folder/dev/nvidia$i"; done
    fi
    # The last deadline wins. A driver that answers has all the time it needs.
    printf '#!/bin/sh\n[ "$FAKE_NVML" != hang ] || set -- "$@" --deadline-ms 500\nexec "%s/phase-preflight" "$@"\n' \
        "$bin" >"$folder/preflight"
    chmod +x "$folder/preflight"
    "$sandbox" start "$folder/a" --real "$folder/preflight" "$@"
}

# Prints what Slurm knows of the nodes.
nodes_in_slurm() {
    SLURM_CONF=$folder/a/slurm.conf sinfo -h -p prod -o '%D %t %G'
}

@test "a machine with GPUs is one node with these GPUs, its processors and its memory" {
    FAKE_NVML=count=3,minors=4,name=2 run gpus
    [ "$status" = 0 ]
    [[ "${lines[0]}" = "sandbox: real GPUs: "*" gpu:h200:2,gpu:l4:1" ]]
    [ "$(nodes_in_slurm)" = "1 idle gpu:h200:2,gpu:l4:1" ]
    [ "$(grep -o 'Type=.*' "$folder/a/gres.conf")" = "Type=h200 File=$folder/dev/nvidia4
Type=h200 File=$folder/dev/nvidia5
Type=l4 File=$folder/dev/nvidia6" ]
    export SLURM_CONF=$folder/a/slurm.conf
    machine=$(env -u SLURM_CONF slurmd -C)
    [[ $machine =~ CPUs=([0-9]+).*RealMemory=([0-9]+) ]]
    [ "$(sinfo -h -p prod -o '%c %m')" = "${BASH_REMATCH[1]} ${BASH_REMATCH[2]}" ]
    run "$sandbox" status "$folder/a"
    [ "$status" = 0 ]
    [[ "$output" = *"real GPUs: "*" gpu:h200:2,gpu:l4:1"* ]]
}

@test "a job sees the GPUs that it asks for, by numbers in the order of the bus" {
    FAKE_NVML=count=3,minors=2,name=2 gpus
    export SLURM_CONF=$folder/a/slurm.conf
    seen='echo $CUDA_DEVICE_ORDER,${CUDA_VISIBLE_DEVICES-all}'
    [ "$(srun --gres=gpu:h200:1 sh -c "$seen")" = PCI_BUS_ID,0 ]
    [ "$(srun --gres=gpu:h200:2 sh -c "$seen")" = PCI_BUS_ID,0,1 ]
    [ "$(srun --gres=gpu:l4:1 sh -c "$seen")" = PCI_BUS_ID,2 ]
    [ "$(srun --gres=gpu:3 sh -c "$seen")" = PCI_BUS_ID,0,1,2 ]
    [ "$(srun sh -c "$seen")" = PCI_BUS_ID, ]
    run srun --gres=gpu:l4:2 true
    [ "$status" != 0 ]
}

@test "a job on real GPUs has the time that Slurm promises to save when the sandbox stops" {
    FAKE_NVML=count=2,minors=2 gpus
    export SLURM_CONF=$folder/a/slurm.conf
    sbatch -Q -o "$folder/out" --wrap "trap 'trap \"\" TERM; sleep 18; touch $folder/saved; exit' TERM
        echo up; while :; do sleep 0.1; done"
    wait_for grep -qs up "$folder/out"
    "$sandbox" stop "$folder/a"
    [ -e "$folder/saved" ]
    [ -z "$(leftovers)" ]
}

job_waits() {
    [ "$(squeue -h -t pending -o '%i %r')" = "$1 Resources" ]
}

@test "two jobs at the same time see different GPUs, and a third job waits" {
    [ "$(nproc)" -ge 2 ] || skip "two jobs need two processors"
    FAKE_NVML=count=2,minors=2 gpus
    export SLURM_CONF=$folder/a/slurm.conf
    for job in 1 2 3; do
        sbatch -Q -o /dev/null --gres=gpu:h200:1 --wrap "echo \$CUDA_VISIBLE_DEVICES >$folder/job-\$SLURM_JOB_ID; sleep 1000"
    done
    wait_for running_jobs_are 2
    wait_for test -s "$folder/job-1" -a -s "$folder/job-2"
    [ "$(sort "$folder/job-1" "$folder/job-2")" = $'0\n1' ]
    wait_for job_waits 3
    scancel 1
    wait_for test -s "$folder/job-3"
    [ "$(cat "$folder/job-3")" = "$(cat "$folder/job-1")" ]
}

@test "GPUs have no types if those of one type are not side by side, because CUDA counts otherwise" {
    FAKE_NVML=count=3,minors=2,name=1 run gpus
    [ "$status" = 0 ]
    [ "${lines[0]}" = "sandbox: the GPUs have no types, because GPUs of one type are not side by side" ]
    [ "$(nodes_in_slurm)" = "1 idle gpu:3" ]
    SLURM_CONF=$folder/a/slurm.conf run srun -Q --gres=gpu:3 sh -c 'echo $CUDA_VISIBLE_DEVICES'
    [ "$output" = 0,1,2 ]
}

@test "after a reboot with other GPUs, start takes the new ones and keeps the queue" {
    FAKE_NVML=count=3,minors=2 gpus
    export SLURM_CONF=$folder/a/slurm.conf
    sbatch -Q -H -o /dev/null --gres=gpu:1 --wrap 'sleep 1'
    run gpus
    [[ "${lines[0]}" = "sandbox: already running, real GPUs: "*" gpu:h200:3" ]]
    FAKE_NVML=count=2,minors=2 run gpus
    [ "${lines[1]}" = "sandbox: this machine has other GPUs now: stop and start take them" ]
    "$sandbox" stop "$folder/a" # saves the queue, which a reboot also does
    FAKE_NVML=count=2,minors=2 gpus
    [ "$(nodes_in_slurm)" = "1 idle gpu:h200:2" ]
    [ "$(squeue -h -o %t)" = PD ]
    # A GPU is gone while slurmd is dead.
    kill_part "$(sinfo -h -N -o %N | head -n 1)"
    rm "$folder/dev/nvidia3"
    FAKE_NVML=count=1,minors=2 gpus
    [ "$(grep -c File= "$folder/a/gres.conf")" = 1 ]
}

# no_gpus SCRIPT TEXT: start fails, says this, and leaves nothing behind.
no_gpus() {
    FAKE_NVML=$1 run gpus
    [ "$status" = 1 ]
    [ "${#lines[@]}" = 1 ]
    [[ "$output" = "sandbox: "*"$2"*"(start --pretend makes pretend nodes)" ]]
    [ ! -e "$folder/a/slurm.conf" ]
}

@test "GPUs that cannot be used are named, and nothing starts" {
    no_gpus hang "the driver: no answer in time"
    no_gpus broken "the driver: nvmlInit: Unknown"
    no_gpus count=2,minors=2,lost=1 "GPU 1 does not answer: GPU is lost"
    no_gpus count=2,minors=2,mig=1 "GPU 1 is split by MIG"
    no_gpus count=2,minors=7 "GPU 1 has no device $folder/dev/nvidia8"
    [ -z "$(leftovers)" ]
}

@test "without GPUs, or where another Slurm has them, the nodes are pretend nodes" {
    FAKE_NVML=count=0 run gpus --nodes 1
    [ "$status" = 0 ]
    [ "${lines[0]}" = "sandbox: pretend nodes, because there are no NVIDIA GPUs: the driver has no GPU" ]
    [ "$(nodes_in_slurm)" = "1 idle gpu:h100:8" ]
    "$sandbox" stop "$folder/a"
    touch "$folder/slurm.conf"
    SLURM_CONF=$folder/slurm.conf FAKE_NVML=count=2,minors=2 run gpus --nodes 1
    [ "$status" = 0 ]
    [ "${lines[0]}" = "sandbox: pretend nodes, because the GPUs of this machine belong to the Slurm of $folder/slurm.conf" ]
    rm "$folder/slurm.conf"
    "$sandbox" stop "$folder/a"
    mkdir "$folder/etc"
    touch "$folder/etc/slurm.conf"
    FAKE_NVML=count=2,minors=2 run gpus --nodes 1
    [ "$status" = 0 ]
    [ "${lines[0]}" = "sandbox: pretend nodes, because the GPUs of this machine belong to the Slurm of $folder/etc/slurm.conf" ]
    rm "$folder/etc/slurm.conf"
    run "$sandbox" status "$folder/a"
    [[ "$output" = *"pretend GPUs: n1 gpu:h100:8"* ]]
}

@test "jobs that wait for real GPUs do not run on pretend GPUs unless somebody says so" {
    FAKE_NVML=count=2,minors=2 gpus
    "$sandbox" stop "$folder/a"
    FAKE_NVML=unloaded run gpus
    [ "$status" = 1 ]
    [[ "$output" = "sandbox: its node had the GPUs of this machine, but there are no NVIDIA GPUs: "*"(start --pretend makes pretend nodes)" ]]
    "$sandbox" start "$folder/a" --nodes 1
    [ "$(nodes_in_slurm)" = "1 idle gpu:h100:8" ]
}

@test "a sandbox that another machine has started is refused, and nothing of it changes" {
    local before
    mkdir -m 700 "$folder/a"
    mkdir -p "$folder"/a/{munge,pid,log,spool/n1}
    touch "$folder"/a/{munge/socket,slurm.conf,pid/slurmctld,lock}
    echo elsewhere >"$folder/a/host"
    before=$(find "$folder" -printf '%p %i %s\n' | sort)
    for action in start stop status; do
        run "$sandbox" "$action" "$folder/a"
        [ "$status" = 1 ]
        [ "$output" = "sandbox: elsewhere has started the sandbox in $folder/a: use the sandbox there (if it runs there no more, remove $folder/a/host)" ]
    done
    [ "$(find "$folder" -printf '%p %i %s\n' | sort)" = "$before" ]
    ln -s a "$folder/sandbox"
    PHASED_HOME=$folder run "${BIN:-$SRC/build/bin}/phasectl" sandbox status --json
    [ "$status" = 1 ]
    [[ "$output" = "phasectl: sandbox: elsewhere has started "* ]]
}

@test "a sandbox that runs belongs to its machine, and one that was stopped to no machine" {
    "$sandbox" start "$folder/a" --nodes 1
    [ "$(cat "$folder/a/host")" = "$(cat /proc/sys/kernel/hostname)" ]
    "$sandbox" status "$folder/a"
    "$sandbox" stop "$folder/a"
    [ ! -e "$folder/a/host" ]
}

@test "wrong usage gives one line and exit code 2, and an impossible folder one line and exit code 1" {
    run "$sandbox" start
    [ "$status" = 2 ]
    [ "${#lines[@]}" = 1 ]
    touch "$folder/file"
    run "$sandbox" start "$folder/file"
    [ "$status" = 1 ]
    [ "$output" = "sandbox: cannot make the folder $folder/file" ]
    run "$sandbox" start "$folder/a" --nodes none
    [ "$status" = 1 ]
    [ "$output" = "sandbox: --nodes wants a number from 1 to 512, not 'none'" ]
}

@test "phasectl does not wait long for a sandbox that does not say whether it runs" {
    mkdir -p "$folder/bin" "$folder/libexec/phased" "$folder/home/sandbox"
    cp "${BIN:-$SRC/build/bin}/phasectl" "$folder/bin"
    touch "$folder/home/sandbox/slurm.conf"
    printf '#!/bin/sh\nexec sleep 1000\n' >"$folder/libexec/phased/sandbox"
    chmod +x "$folder/libexec/phased/sandbox"
    run timeout 60 env PHASED_HOME="$folder/home" "$folder/bin/phasectl" sandbox status --json
    [ "$status" = 3 ]
    [[ $output == *'"running": false'* ]]
}

@test "phasectl gives pretend nodes to a sandbox with real GPUs only if --pretend says so" {
    mkdir -p "$folder/bin" "$folder/libexec/phased" "$folder/home/sandbox"
    cp "${BIN:-$SRC/build/bin}/phasectl" "$folder/bin"
    printf '#!/bin/sh\necho "$1" "$3" "$4"\n' >"$folder/libexec/phased/sandbox"
    chmod +x "$folder/libexec/phased/sandbox"
    export PHASED_HOME=$folder/home
    echo real >"$folder/home/sandbox/kind"
    run "$folder/bin/phasectl" sandbox start --nodes 2
    [ "$status" = 1 ]
    [ "$output" = "phasectl: jobs may wait for the real GPUs of $folder/home/sandbox: --nodes needs --pretend there" ]
    [ "$("$folder/bin/phasectl" sandbox start --nodes 2 --pretend)" = "start --nodes 2" ]
    [ "$("$folder/bin/phasectl" sandbox start --pretend)" = "start --nodes 4" ]
    [ "$("$folder/bin/phasectl" sandbox start)" = "start --real $folder/bin/phase-preflight" ]
    echo pretend >"$folder/home/sandbox/kind"
    [ "$("$folder/bin/phasectl" sandbox start --nodes 512)" = "start --nodes 512" ]
    run "$folder/bin/phasectl" sandbox start --nodes 513
    [ "$status" = 2 ]
    [[ "$output" = *"from 1 to 512, not '513'"* ]]
}
