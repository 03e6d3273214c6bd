#!/usr/bin/env bats
# The daemon as a job of Slurm: start --as-job, and phasectl on another host. daemon_successor.bats has
# what comes at the time limit of the job.

bats_require_minimum_version 1.5.0
load phased.bash
load daemon_job.bash

setup_file() { sandbox_up 3; }
teardown_file() { sandbox_down; }
setup() { home_up; }
teardown() { home_down; }

@test "the daemon runs as a job; another start is refused; stop ends the job and leaves training alone" {
    start_as_job -- --time=30
    local job
    job=$(ping job)
    tells "runs as job $job on node n[1-3], until 20[0-9-]+ [0-9]+:[0-9]+"
    said "^job $job will run phased" || { said '^phased .* started ' && said "^runs as job $job on node n[1-3], until 20"; }
    [ "$(squeue -h -j "$job" -o '%j %C %T')" = 'phased-daemon 1 RUNNING' ]
    run phasectl daemon start --as-job
    [ "$status" = 1 ]
    [[ $output == *"the daemon of this home runs as job $job already"* ]]
    run phasectl daemon start
    [ "$status" = 0 ]
    [[ $output == *"is running already"* ]]
    counter | submit
    eventually 60 test -s "$PHASED_HOME/runs/1/count/out/step"
    [ "$(phasectl daemon stop)" = 'phased stopped' ]
    is_alone 0
    [ ! -e "$PHASED_HOME/daemon-job" ]
    run phasectl daemon status
    [ "$status" = 1 ]
    [[ $output == *"no daemon is running"* ]]
    # The next daemon is not a job, and takes the run up.
    phasectl daemon start
    touch "$PHASED_HOME/runs/1/count/out/go"
    eventually 60 state 1 succeeded
    [ "$(ping job)" = null ]
    [ "$(line_count "$PHASED_HOME/runs/1/count/out/executed")" = 1 ]
}

@test "options that do not make one job are refused, and a job that has gone is told" {
    local option job
    for option in --array=1-2 --chdir=/tmp -Jother --wait --wrap=true; do
        run -1 phasectl daemon start --as-job -- "$option"
        [ "$output" = "phasectl: the job of the daemon cannot have the option $option" ]
    done
    run -1 phasectl daemon start --as-job -- train.sh
    [[ $output = "phasectl: 'train.sh' is not an option; "* ]]
    start_as_job -- --time=30
    job=$(ping job)
    scancel "$job"
    eventually 60 job_has_ended "$job"
    eventually 60 tells "^its job has ended: .*start --as-job"
    run -1 phasectl status
    [[ $output = *"no daemon serves $PHASED_HOME now"* ]]
    run -1 phasectl daemon start
    [[ $output = *"runs as a job that does not answer now: "* ]]
    start_as_job -- --time=30
    phasectl daemon stop
    [ ! -e "$PHASED_HOME/daemon-job" ]
}

@test "a stop that fails because Slurm does not answer is taken back by another start" {
    start_as_job -- --time=30
    kill -STOP "$(cat "$SANDBOX/pid/slurmctld")"
    run phasectl daemon stop
    kill -CONT "$(cat "$SANDBOX/pid/slurmctld")"
    [ "$status" = 1 ]
    eventually 60 tells 'a stop was requested'
    run -1 phasectl daemon start --as-job
    [[ $output = *"already"* ]]
    run -0 phasectl daemon status
    [[ $output != *"a stop was requested"* ]]
    phasectl daemon stop
}

# As on another host: the socket is in the home and leads nowhere.
hide_socket() {
    mv "$PHASED_HOME/phased.sock" "$PHASED_HOME/hidden.sock"
    python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$PHASED_HOME/phased.sock"
}

@test "phasectl reaches the daemon from another host, with the key of the home" {
    phasectl daemon start
    hide_socket
    [[ $(phasectl daemon status) == *"is running (pid $(daemon_pid), "* ]]
    HF_TOKEN=hf_0123456789 submit < <(two_phases)
    eventually 60 state 1 succeeded
    phasectl events 1 | grep -q succeeded
    phasectl logs 1/first >"$PHASED_HOME/said"
    said 'step=2 loss=4.25'
    # A person follows a run while it goes on: long polls.
    counter | submit
    eventually 60 test -s "$PHASED_HOME/runs/2/count/out/step"
    phasectl watch 2 >"$PHASED_HOME/watched" 2>&1 3>&- &
    local watch=$!
    touch "$PHASED_HOME/runs/2/count/out/go"
    wait $watch
    run phasectl daemon stop
    [ "$status" = 1 ]
    [[ $output == *"phased runs on another host: run 'phasectl daemon stop' there"* ]]
    # Without the right key nothing is answered.
    tr 0-9a-f 1-9a-f0 <"$PHASED_HOME/key" >"$PHASED_HOME/key.other"
    cp "$PHASED_HOME/key" "$PHASED_HOME/key.right"
    cat "$PHASED_HOME/key.other" >"$PHASED_HOME/key"
    run phasectl cancel 1
    [ "$status" = 1 ]
    [[ $output == *"refuses the key of this home: it serves another home"* ]]
    cat "$PHASED_HOME/key.right" >"$PHASED_HOME/key"
    phasectl status 1
    daemon_kill
}

@test "phased starts again after a crash, and the job after a requeue" {
    start_as_job
    local job pid
    job=$(ping job)
    pid=$(ping pid)
    counter | submit
    eventually 60 test -s "$PHASED_HOME/runs/1/count/out/step"
    kill -KILL "$pid"
    eventually 60 serves_as "$job"
    [ "$(ping pid)" != "$pid" ]
    scontrol requeue "$job"
    waits_to_begin() { [ "$(squeue -h -j "$job" -o '%T %r')" = 'PENDING BeginTime' ]; }
    eventually 60 waits_to_begin
    scontrol update JobId="$job" StartTime=now+2
    eventually 60 job_in_state "$job" RUNNING
    eventually 60 serves_as "$job"
    [[ $(scontrol show job "$job") == *Restarts=1* ]]
    touch "$PHASED_HOME/runs/1/count/out/go"
    eventually 60 state 1 succeeded
    [ "$(line_count "$PHASED_HOME/runs/1/count/out/executed")" = 1 ]
    phasectl daemon stop
}

@test "a job that waits is named, a second one is refused, and stop takes it away" {
    phasectl daemon start --as-job -- --begin=now+1hour >"$PHASED_HOME/said"
    local job
    job=$(sed -nE 's/^job ([0-9]+) will run phased.*/\1/p' "$PHASED_HOME/said")
    [ -n "$job" ]
    run phasectl daemon status
    [ "$status" = 1 ]
    [[ $output == "job $job (pending"* ]]
    run phasectl daemon start --as-job
    [ "$status" = 1 ]
    [[ $output == *"a job is there for the daemon of this home already: job $job (pending"* ]]
    is_alone 1
    phasectl daemon stop
    is_alone 0
    run phasectl daemon start --as-job -- --partition=elephant
    [ "$status" = 1 ]
    [[ $output == *[Ii]nvalid*partition* ]]
    [ ! -e "$PHASED_HOME/daemon-job" ]
    run phasectl daemon start -- --time=1
    [ "$status" = 2 ]
}

# --- The script alone, with programs that answer as the test wants -------------------------------

# script_up: makes a folder of programs before those of the PATH. No pause takes time. `phased` notes
# that it serves. The mark says that the home is to be served.
script_up() {
    FAKES=$PHASED_HOME/fakes
    mkdir "$FAKES"
    fake sleep true
    fake squeue true
    fake scontrol false
    fake phased '[ "$1" = --check-slurm ] || echo served >>"$PHASED_HOME/served"'
    echo wanted >"$PHASED_HOME/daemon-job"
}

# fake NAME SCRIPT
fake() {
    printf '#!/bin/bash\n%s\n' "$2" >"$FAKES/$1"
    chmod 755 "$FAKES/$1"
}

# script WORD...: runs the script as job 7.
script() {
    SLURM_JOB_ID=7 PATH=$FAKES:$PATH timeout 600 "$SRC/cli/daemon-job" "$1" "$PHASED_HOME" "${@:2}"
}

@test "a job that begins while Slurm does not answer serves later" {
    script_up
    fake squeue 'echo >>"$PHASED_HOME/asked"; [ "$(wc -l <"$PHASED_HOME/asked")" -gt 7 ]'
    script serve "$FAKES/phased" self
    [ "$(cat "$PHASED_HOME/served")" = served ]
    rm "$PHASED_HOME/served"
    # A node on which phased cannot use Slurm: the job that may not be requeued ends.
    fake phased '[ "$1" != --check-slurm ] || exit 1; echo served >>"$PHASED_HOME/served"'
    run -1 script serve "$FAKES/phased" self
    [ ! -e "$PHASED_HOME/served" ]
}

@test "a mark that is away for a moment does not leave the job without a successor" {
    script_up
    # The keeper of the successor sleeps before it first looks, and after each look.
    fake sleep 'cd "$PHASED_HOME"; echo >>slept
        case $(wc -l <slept) in 2) mv daemon-job away ;; 3) mv away daemon-job ;; esac'
    fake squeue 'echo "7|RUNNING|n1|N/A|None|$PHASED_HOME"'
    fake sbatch 'echo >>"$PHASED_HOME/submitted"; echo refused >&2; exit 1'
    fake phased '[ "$1" != --check-slurm ] || exit 0
        kill -USR1 $PPID
        for _ in {1..200}; do
            [ "$(cat "$PHASED_HOME/submitted" 2>/dev/null | wc -l)" -lt 2 ] || break
            /bin/sleep 0.05
        done'
    script serve "$FAKES/phased" self
    [ "$(line_count "$PHASED_HOME/submitted")" -ge 2 ]
}

@test "a disk that is full leaves the mark as it was" {
    script_up
    run -1 bash -c "trap '' XFSZ; ulimit -f 0; $(declare -f script); SRC=$SRC FAKES=$FAKES; script stop"
    [ "$(cat "$PHASED_HOME/daemon-job")" = wanted ]
    [ ! -e "$PHASED_HOME/daemon-job.new" ]
}

@test "of two daemons that start at once, one serves" {
    local codes=() pid served=0
    for _ in 1 2; do
        timeout 600 phased >>"$PHASED_HOME/both.log" 2>&1 3>&- &
        codes+=($!)
    done
    answers() { phasectl daemon status; }
    eventually 60 answers
    one_has_ended() { [ "$(jobs -r | wc -l)" = 1 ]; }
    eventually 60 one_has_ended
    phasectl daemon stop
    for pid in "${codes[@]}"; do
        wait "$pid" && served=$((served + 1)) || [ $? = 3 ]
    done
    [ $served = 1 ]
    grep -q "another daemon serves this home" "$PHASED_HOME/both.log"
}

# The sandbox has neither the partition nor the account.
@test "doc/guide/daemon-as-a-job.md does what it says" {
    local work=$PHASED_HOME/work start
    mkdir "$work"
    two_phases >"$work/train.yaml"
    start=$(grep '^phasectl daemon start --as-job' "$SRC/doc/guide/daemon-as-a-job.md")
    ${start/--partition=cpu --account=proj7/}
    eventually 60 is_served
    page doc/guide/daemon-as-a-job.md "$work" --without "$start"
    is_alone 0
}
