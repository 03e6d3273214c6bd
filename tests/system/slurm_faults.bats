#!/usr/bin/env bats
# What goes wrong in Slurm itself: nodes that cannot launch a job, and nodes that are lost.

load phased.bash
load training.bash

setup_file() {
    sandbox_up 2
    reference_up
    export BROKEN=$SANDBOX/broken # the node whose Prolog fails; no such file: none
    cat >"$SANDBOX/prolog" <<PROLOG
#!/bin/sh
[ "\$SLURMD_NODENAME" != "\$(cat "$BROKEN" 2>/dev/null)" ]
PROLOG
    chmod 755 "$SANDBOX/prolog"
    echo "Prolog=$SANDBOX/prolog" >>"$SLURM_CONF"
    scontrol reconfigure
}
teardown_file() { sandbox_down; }
setup() { home_up; }
teardown() {
    rm -f "$BROKEN"
    "$SRC/etc/sandbox/sandbox" start "$SANDBOX" --nodes 2 >/dev/null
    scontrol update NodeName=n1,n2 State=RESUME 2>/dev/null || true
    if [ -z "${BATS_TEST_COMPLETED:-}" ]; then
        scontrol update PartitionName=preempt MaxTime=INFINITE || true
        scontrol delete ReservationName=maintenance || true
    fi
    home_down
}

no_job_is_left() {
    [ -z "$(squeue -h -o %i)" ]
}

@test "a job that Slurm holds after a failed Prolog is replaced, and the new job runs on another node" {
    phasectl daemon start
    echo n1 >"$BROKEN"
    workflow=$(training | submit)
    eventually 120 state "$workflow" succeeded
    [ "$(record 'SELECT outcome, cause FROM run WHERE attempt = 1')" = 'failed|launch' ]
    [ "$(record 'SELECT count(*) FROM run')" = 2 ]
    eventually 60 no_job_is_left
    same_weights "$workflow"
    [[ "$(phasectl why "$workflow/train")" = *"failed: launch"*"held by Slurm"* ]]
}

# told RUN TYPE: when a node of this run first wrote an entry of this type.
told() {
    gojq -r --arg type "$2" 'select(.type == $type) | .time' \
        "$PHASED_HOME/runs/$workflow/train/$1/journal"/n*.jsonl | head -n 1
}

makes_steps() {
    [ "$(record "SELECT last_step > resume_step FROM run WHERE attempt = $1")" = 1 ]
}

@test "when slurmd is killed on a node, the processes there end, and the run goes on elsewhere" {
    phasectl daemon start
    # It trains on until its agent stops it, and keeps the checkpoint that the next run is given.
    workflow=$(training | sed 's/iterations: 150/iterations: 5000/; s/--save-every 20/--keep 100 --save-every 100/' |
        submit)
    eventually 60 past "$workflow/train" 105
    node=$(record 'SELECT nodes FROM run')
    kill -KILL "$(cat "$SANDBOX/pid/$node")"
    eventually 120 makes_steps 2
    [ "$(record 'SELECT nodes FROM run WHERE attempt = 2')" != "$node" ]
    [ "$(record 'SELECT resume_step > 0 FROM run WHERE attempt = 2')" = 1 ]
    ended=$(told 1 exited)
    [ "$(gojq -n "$ended < $(told 2 ranks)")" = true ]
    phasectl cancel "$workflow"
    eventually 60 state "$workflow" cancelled
}

# stepd_of NODE: the slurmstepd that has started the agent of this node. The heir of an agent has
# the same command line, but its parent is init. Only a slurmstepd may be signalled.
stepd_of() {
    local task parent
    for task in $(pgrep -f "phase-worker task $PHASED_HOME/"); do
        parent=$(ps -o ppid= -p "$task" | tr -d ' ')
        if [ "$(cat "/proc/$parent/comm")" = slurmstepd ] &&
            grep -qzx "SLURMD_NODENAME=$1" "/proc/$task/environ"; then
            echo "$parent"
        fi
    done
}

has_lost_agent() {
    [ "$(record "SELECT outcome, cause, message FROM run WHERE attempt = $1")" = \
        "failed|node_fail|the job step was lost: the agent on $2 has lost srun" ]
}

@test "a run whose slurmstepd is killed on one node ends soon, and the phase goes on in a new run" {
    phasectl daemon start
    # Only the first node trains. The other node would notice nothing.
    workflow=$(training | sed 's/nodes: 1/nodes: 2/; s/launch: rank/launch: node/; s/iterations: 150/iterations: 5000/
        s/^      exec /      [ "$NODE_RANK" = 0 ] || exec sleep 1000; exec /' | submit)
    for run in 1 2; do
        eventually 60 makes_steps $run
        stepd=$(stepd_of n$run)
        [ "$(wc -w <<<"$stepd")" = 1 ]
        kill -KILL "$stepd"
        eventually 60 has_lost_agent $run n$run
    done
    [ "$(record 'SELECT resume_step > 0 FROM run WHERE attempt = 2')" = 1 ]
    phasectl cancel "$workflow"
    eventually 60 state "$workflow" cancelled
    eventually 60 no_job_is_left
}

limit_of() {
    [ "$(squeue -h -o %l)" = "$1" ]
}

@test "a phase longer than its partition allows gets the allowed time, or is refused without a checkpoint" {
    scontrol update PartitionName=preempt MaxTime=7
    phasectl daemon start
    workflow=$(training 110 | submit)
    eventually 60 past "$workflow/train" 5
    limit_of 7:00
    knows_limit() { [ "$(record 'SELECT time_s FROM job')" = 420 ]; }
    eventually 60 knows_limit
    touch "$PHASED_HOME/runs/$workflow/train/out/go"
    eventually 60 state "$workflow" succeeded
    workflow=$(training | grep -v checkpoint: | submit)
    eventually 60 state "$workflow/train" held
    scontrol update PartitionName=preempt MaxTime=INFINITE
    [[ "$(phasectl status "$workflow/train")" = *"more than the 7 that the default partition allows"* ]]
}

@test "a phase with checkpoints starts in the time that is left before a reservation" {
    phasectl daemon start
    scontrol create reservation ReservationName=maintenance StartTime=now+15minutes Duration=60 \
        Nodes=ALL Flags=MAINT,IGNORE_JOBS Users=root
    workflow=$(training 110 | submit)
    eventually 90 past "$workflow/train" 5
    minutes=$(squeue -h -o %l | cut -d: -f1)
    scontrol delete ReservationName=maintenance
    [ "$minutes" -ge 10 ]
    [ "$minutes" -le 15 ]
    touch "$PHASED_HOME/runs/$workflow/train/out/go"
    eventually 120 state "$workflow" succeeded
}

@test "plan answers while the controller hangs, and says that the controller does not answer" {
    # After MessageTimeout, 10 s, Slurm's library gives its own reason. The daemon's is wanted here.
    { cat "$SLURM_CONF"; echo MessageTimeout=100; } >"$PHASED_HOME/slurm.conf"
    SLURM_CONF=$PHASED_HOME/slurm.conf phasectl daemon start
    training >"$PHASED_HOME/train.yaml"
    says() { [[ $(phasectl daemon status) =~ $1 ]]; }
    eventually 60 says ' answers$'
    kill -STOP "$(cat "$SANDBOX/pid/slurmctld")"
    run timeout 60 phasectl plan "$PHASED_HOME/train.yaml"
    said=yes
    eventually 60 says 'Slurm does not answer: it has not answered for [0-9]+ s' || said=no
    kill -CONT "$(cat "$SANDBOX/pid/slurmctld")"
    [ "$said" = yes ]
    [ "$status" = 1 ]
    [[ $output == *"could not ask Slurm"*"it has not answered for 8 s"* ]]
    eventually 60 phasectl plan "$PHASED_HOME/train.yaml"
    eventually 60 says 'Slurm cluster .* answers$'
}

@test "a job that Slurm suspends is shown as suspended, and goes on where it stopped" {
    phasectl daemon start
    workflow=$(training 110 | submit)
    eventually 60 past "$workflow/train" 5
    job=$(squeue -h -o %i)
    scontrol suspend "$job"
    suspended() { [[ "$(phasectl status "$workflow/train")" = *suspended* ]]; }
    eventually 60 suspended
    [[ "$(phasectl why "$workflow/train")" = *"suspended"* ]]
    [ "$(phasectl status "$workflow/train" --json | gojq -r .state)" = active ]
    scontrol resume "$job"
    touch "$PHASED_HOME/runs/$workflow/train/out/go"
    eventually 120 state "$workflow" succeeded
    [ "$(record 'SELECT count(*) FROM run')" = 1 ]
    same_weights "$workflow"
}

is_held_pending() {
    [ "$(squeue -h -t PENDING -o %i)" = "$1" ]
}

# The controller is killed, and starts again with a state that was saved earlier.
roll_back() {
    controller=$(cat "$SANDBOX/pid/slurmctld")
    kill -KILL "$controller"
    eventually 60 process_has_ended "$controller"
    rm -rf "$SANDBOX/state"
    cp -a "$SANDBOX/state.before" "$SANDBOX/state"
    "$SRC/etc/sandbox/sandbox" start "$SANDBOX" --nodes 2 >/dev/null
}

is_warned() {
    [ "$(record "SELECT count(*) FROM event WHERE type = 'warning' AND message LIKE '%$1%'")" = "$2" ]
}

@test "a job that a restored controller brings back does not train, and only the retry trains" {
    phasectl daemon start
    scontrol update NodeName=n1,n2 State=DRAIN Reason=test
    workflow=$(training | submit)
    is_known() { job=$(record 'SELECT slurm_id FROM job WHERE slurm_id IS NOT NULL') && [ -n "$job" ]; }
    eventually 60 is_known
    eventually 60 grep -qsaF "$(record 'SELECT token FROM job')" "$SANDBOX/state/job_state"
    rm -rf "$SANDBOX/state.before"
    kill -STOP "$(cat "$SANDBOX/pid/slurmctld")" # a save renames files
    cp -a "$SANDBOX/state" "$SANDBOX/state.before"
    kill -CONT "$(cat "$SANDBOX/pid/slurmctld")"
    scancel "$job"
    eventually 60 state "$workflow/train" held
    # The daemon sees that the job is back.
    roll_back
    eventually 60 is_warned "job $job was over, and Slurm has it again" 1
    eventually 60 no_job_is_left
    # No daemon sees it, and the job starts.
    phasectl daemon stop
    roll_back
    eventually 60 is_held_pending "$job"
    eventually 60 nodes_resume n1,n2
    eventually 60 no_job_is_left
    grep -qF "declared this run over" "$PHASED_HOME"/runs/*/phased-*/job.log
    [ ! -e "$PHASED_HOME/runs/$workflow/train/out/executed" ]
    phasectl daemon start
    phasectl retry "$workflow/train"
    eventually 120 state "$workflow" succeeded
    [ "$(line_count "$PHASED_HOME/runs/$workflow/train/out/executed")" = 1 ]
    same_weights "$workflow"
}
