#!/usr/bin/env bats
# The sandbox: a private Slurm that starts, is repaired, and leaves nothing behind.

setup() {
    command -v slurmctld slurmd munged >/dev/null || PATH=$PATH:/usr/sbin
    command -v slurmctld slurmd munged >/dev/null || skip "Slurm's daemons are not installed"
    sandbox=${SRC:-$BATS_TEST_DIRNAME/../..}/etc/sandbox/sandbox
    folder=$(mktemp -d /tmp/phased-test-XXXXXX)
    unset SLURM_CONF
}

teardown() {
    local conf
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
    local tries=200
    until "$@"; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || return 1
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
    run srun -N 2 --gres=gpu:h100:4 sh -c 'echo $CUDA_VISIBLE_DEVICES'
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

@test "a second start changes nothing, and says so" {
    "$sandbox" start "$folder/a" --nodes 1
    before=$(cat "$folder"/a/pid/*)
    run "$sandbox" start "$folder/a"
    [ "$status" = 0 ]
    [[ "$output" = *"already running"* ]]
    [ "$(cat "$folder"/a/pid/*)" = "$before" ]
}

@test "start repairs the parts that have died, and keeps the job that runs" {
    "$sandbox" start "$folder/a" --nodes 2
    export SLURM_CONF=$folder/a/slurm.conf
    sbatch -Q -N 1 -w n1 -o /dev/null --wrap 'sleep 1000'
    wait_for running_jobs_are 1
    # A controller that is stopped properly saves its state. A killed controller may forget what
    # ran.
    controller=$(cat "$folder/a/pid/slurmctld")
    kill -TERM "$controller"
    kill_part n2
    wait_for test ! -e "/proc/$controller/exe"
    "$sandbox" start "$folder/a"
    [ "$(squeue -h -o '%t %N')" = "R n1" ]
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
    timeout 20 setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
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
    [ "$output" = "sandbox: others may write to $folder/open and put another folder in place of $folder/open/a: use one elsewhere" ]
    need_other
    chmod 700 "$folder/a"
    chown 65534 "$folder/a"
    run "$sandbox" start "$folder/a"
    [ "$status" = 1 ]
    [ "$output" = "sandbox: $folder/a belongs to nobody: use a folder of your own" ]
}

@test "status ends even if the PATH has no programs" {
    run timeout 20 env PATH="$folder/empty" "$BASH" "$sandbox" status "$folder"
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
