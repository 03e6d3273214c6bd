#!/usr/bin/env bats
# How long a run goes on when the time limit is near, and how long its program has to stop. Without
# Slurm.

load worker/helpers

setup() {
    worker_setup
}

teardown() {
    worker_teardown
}

# limit SECONDS [STATE]: Slurm says that the job ends in so many seconds.
limit() {
    end=$(date -d "+$1 seconds" +%s)
    echo "JobState=${2:-RUNNING} EndTime=$(date -d "@$end" +%Y-%m-%dT%H:%M:%S) Restarts=0 PreemptTime=None" >"$home/slurm/show"
}

# A program that writes down when it was told to stop, and saves at that time.
stopping=$(cat <<'PROGRAM'
trap 'date +%s >"$PHASED_OUT/told"; echo weights >"$PHASED_OUT/step_7"; exit 0' TERM
echo step=7 loss=1
touch "$PHASED_OUT/ready"
until [ -e "$PHASED_OUT/go" ]; do sleep 0.05 || true; done
PROGRAM
)

checkpoint() {
    printf '"checkpoint": {"path": "$PHASED_OUT/step_{step}", "save_time_s": %s}' "$1"
}

# run_to_limit SPEC: begins the run, and sends Slurm's signal.
run_to_limit() {
    new_run 1 "{${1:+$1, }\"run\": $(script "$stopping")}" "${2:-{\}}"
    start_lead 1
    await test -e "$home/out/ready"
    kill -USR2 "$lead"
}

# told_between FROM TO: the program was told to stop within these seconds before the end of the job.
told_between() {
    local left=$((end - $(cat "$home/out/told")))
    echo "# told $left s before the limit"
    [ "$left" -le "$1" ] && [ "$left" -ge "$2" ]
}

@test "a run without a checkpoint goes on until ten seconds before the limit" {
    limit 20
    run_to_limit
    await_lead 1
    told_between 12 -60
    [ "$(outcome 1 '[.outcome, .message, .requeues]')" = '["timed_out","the time limit of the job is near",false]' ]
}

@test "a run with a checkpoint stops its time to save plus ten seconds before the limit" {
    limit 60
    run_to_limit "$(checkpoint 35)"
    await_lead
    told_between 47 13
    [ "$(outcome 1 '[.outcome, .requeues]')" = '["timed_out",true]' ]
}

@test "a run whose time to save is longer than the time left stops at once" {
    limit 110
    run_to_limit "$(checkpoint 105)"
    await_lead
    told_between 110 20
}

@test "a lead asks for a time limit that was changed after the start of the job" {
    limit 20
    export SLURM_JOB_END_TIME=$((end + 60))
    run_to_limit
    await_lead 1
    told_between 12 -30 # by the old limit: -50
}

@test "a run whose time limit was lowered has timed out, and was not preempted" {
    limit 3600
    export SLURM_JOB_END_TIME=$end
    new_run 1 "{\"run\": $(script "$stopping")}"
    start_lead 1
    await test -e "$home/out/ready"
    limit 80
    kill -USR2 "$lead"
    await_lead 1
    [ "$(outcome 1 '[.outcome, .message]')" = '["timed_out","the time limit of the job is near"]' ]
}

@test "a job in the state SIGNALING still has its time" {
    limit 20 SIGNALING # as long as Slurm delivers a signal
    run_to_limit
    await_lead 1
    told_between 12 -60
}

@test "a run stops at once if Slurm does not say the time limit" {
    end=$(($(date +%s) + 110))
    export SLURM_JOB_END_TIME=$end
    run_to_limit
    await_lead 1
    told_between 110 20
    [ "$(outcome 1 .outcome)" = timed_out ]
}

@test "a run that is cancelled near the limit stops at once" {
    start_daemon
    limit 110
    run_to_limit
    command_lead 1 1 '{"verb": "stop", "why": "cancelled"}'
    await_lead 1
    told_between 110 20
    [ "$(outcome 1 .outcome)" = cancelled ]
}

@test "a run that ends near the limit has succeeded, and no other run begins in its job" {
    start_daemon
    limit 100
    run_to_limit '' '{"linger_s": 60}'
    new_run 2 '{"run": "true"}'
    command_lead 1 1 "{\"verb\": \"next\", \"run_dir\": \"$home/phase/2\", \"when\": \"ended\"}"
    asked() { [ "$(grep -cs 'show job' "$home/slurm/calls")" -ge 2 ]; } # at its start, and near the limit
    await asked
    touch "$home/out/go"
    await_lead
    [ "$(outcome 1 .outcome)" = succeeded ]
    [ ! -e "$home/out/told" ]
    [ ! -e "$home/phase/2/journal/lead.jsonl" ]
}

# terminate: sends Slurm's SIGTERM to the job step of the agents.
terminate() {
    pkill -TERM -f "^[^ ]*/phase-worker node $job\$"
}

deaf='trap "" TERM; touch "$PHASED_OUT/ready"; while :; do sleep 0.05; done'

@test "a program without a checkpoint has the same time to stop as under Slurm" {
    start_daemon
    new_run 1 "{\"run\": $(script 'trap "sleep 13; touch $PHASED_OUT/stopped; exit 0" TERM
        touch "$PHASED_OUT/ready"; while :; do sleep 0.05; done')}"
    start_lead 1
    await test -e "$home/out/ready"
    command_lead 1 1 '{"verb": "stop", "why": "held"}'
    await_lead 1
    [ -e "$home/out/stopped" ]
    [ "$(outcome 1 .outcome)" = cancelled ]
}

@test "a program without a checkpoint that does not stop is killed before Slurm kills the job" {
    echo 'JobState=COMPLETING EndTime=Unknown Restarts=0 PreemptTime=None' >"$home/slurm/show"
    echo 'KillWait                = 2 sec' >"$home/slurm/config"
    new_run 1 "{\"run\": $(script "$deaf")}"
    start_lead 1
    await test -e "$home/out/ready"
    terminate
    await_lead 1
    local told=$(journal 1 lead 'select(.type == "stopping") | .time')
    local killed=$(journal 1 n1 'select(.type == "exited") | .time')
    [ "$(gojq -n "$killed - $told < 25")" = true ] # Slurm's default is 30 s
    [ "$(outcome 1 '[.outcome, .message]')" = '["cancelled","the job was cancelled in Slurm"]' ]
}

@test "a program without a checkpoint that does not stop is killed when the grace is over" {
    echo "JobState=RUNNING EndTime=2099-01-01T00:00:00 PreemptTime=2026-11-21T00:00:00" >"$home/slurm/show"
    new_run 1 "{\"run\": $(script "$deaf")}"
    start_lead 1
    await test -e "$home/out/ready"
    terminate
    await grep -q stopping "$home/phase/1/journal/lead.jsonl"
    sleep 2 # the grace, longer than two signals of one cause are apart
    kill -TERM "$lead"
    await_lead
    [ "$(outcome 1 '[.outcome, .requeues]')" = '["preempted",true]' ]
}

# terminate_near_limit REASON: Slurm ends the job for this reason, a few seconds before the limit.
terminate_near_limit() {
    limit 10
    new_run 1 "{\"run\": $(script "$stopping")}"
    start_lead 1
    await test -e "$home/out/ready"
    limit 0 COMPLETING
    sed -i "s/EndTime/Reason=$1 EndTime/" "$home/slurm/show"
    kill -TERM "$lead"
    await_lead 1
}

@test "a job that is cancelled just before its limit is not taken for timed out" {
    terminate_near_limit None
    [ "$(outcome 1 '[.outcome, .message]')" = '["cancelled","the job was cancelled in Slurm"]' ]
}

@test "a job that Slurm ends at its limit without an earlier signal has timed out" {
    terminate_near_limit TimeLimit
    [ "$(outcome 1 '[.outcome, .message]')" = '["timed_out","the time limit of the job was reached"]' ]
}

# at_limit SPEC: the run has begun to stop for the limit, and then Slurm's SIGTERM comes.
at_limit() {
    limit 10
    run_to_limit "$@"
    await grep -q stopping "$home/phase/1/journal/lead.jsonl"
    sleep 2 # longer than two signals of one cause are apart
    rm -f "$home/slurm/calls"
    kill -TERM "$lead"
}

asked_for_kill_wait() { grep -qs 'show config' "$home/slurm/calls"; }

@test "a program that still stops when the limit is reached has KillWait to end, as under Slurm" {
    stopping='trap "touch $PHASED_OUT/told" TERM; touch "$PHASED_OUT/ready"
        until [ -e "$PHASED_OUT/go" ]; do sleep 0.05 || true; done; touch "$PHASED_OUT/results"'
    at_limit
    await asked_for_kill_wait
    touch "$home/out/go"
    await_lead 1
    [ -e "$home/out/results" ]
    [ "$(outcome 1 .outcome)" = timed_out ]
}

@test "a program that does not stop at the limit is killed before Slurm kills the job" {
    stopping=$deaf
    echo 'KillWait                = 2 sec' >"$home/slurm/config"
    at_limit "$(checkpoint 3600)"
    await_lead 1
    [ "$(outcome 1 .outcome)" = timed_out ]
}
