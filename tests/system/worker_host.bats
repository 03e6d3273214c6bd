#!/usr/bin/env bats
# phase-worker host without Slurm: a batch script with several leads, and stand-ins for srun and
# scontrol. Run 1 belongs to the job's own folder, and runs 2 and 3 belong to the guests.

bats_require_minimum_version 1.5.0

load worker/helpers

setup() {
    worker_setup
    mkdir -p "$home/job2" "$home/job3"
}

teardown() {
    worker_teardown
}

# host_run NUMBER SPEC: makes a run, with which the job of its folder begins.
host_run() {
    local folder=$home/job
    [ "$1" = 1 ] || folder=$home/job$1
    new_run "$1" "$2" "$(gojq -n --arg dir "$folder" --arg out "$home/out$1" '{job_dir: $dir, out_dir: $out}')"
    printf '{"run_dir": "%s"}' "$home/phase/$1" >"$folder/current.json"
}

# guests_in HOME NUMBER...: writes the list of guests like a daemon that knows the home by this path.
guests_in() {
    printf '%s\n' "${@:2}" | gojq -Rn --arg home "$1" '{job_dirs: [inputs | $home + "/job" + .]}' >"$home/job/.guests"
    mv "$home/job/.guests" "$home/job/guests.json"
}

guests() {
    guests_in "$home" "$@"
}

start_host() {
    SLURM_JOB_ID=${job_id:-4711} SLURM_JOB_NUM_NODES=1 SLURM_RESTART_COUNT=${1:-0} \
        setsid "$worker" host "$job" >>"$job/job.log" 2>&1 3>&- &
    lead=$!
}

# Ends when the file `done-N` has its exit code. Saves and ends on SIGTERM.
trains() {
    script "trap 'echo saved >\$PHASED_OUT/step_\$step; exit 0' TERM
        for ((step = 1;; step++)); do
            echo step=\$step loss=1
            if [ -s '$home/done-$1' ]; then exit \$(cat '$home/done-$1'); fi
            sleep 0.05 & wait \$! || true
        done"
}

trains_now() {
    grep -Eqs '"type": ?"metric"' "$home/phase/$1/journal/n1.jsonl"
}

# Slurm accepts one requeue, and the script of the job then only makes a file.
requeue_once() {
    echo 1 >"$home/slurm/requeue"
    printf '#!/bin/sh\ntouch "%s/restarted"\n' "$home" >"$home/start"
    chmod +x "$home/start"
}

requeues() {
    grep -cs '^requeue ' "$home/slurm/calls" || true
}

@test "a job lasts until its last run has ended, and a failed run does not affect the other runs" {
    for run in 1 2; do
        host_run $run "{\"run\": $(trains $run)}"
    done
    guests 2
    start_host
    await trains_now 1
    await trains_now 2
    echo 3 >"$home/done-2"
    await has_outcome 2
    [ "$(outcome 2 '[.outcome, .exit_code]')" = '["failed",3]' ]
    run ! has_outcome 1
    kill -0 "$lead"
    echo 0 >"$home/done-1"
    await_lead 1 # since one has failed
    [ "$(outcome 1 .outcome)" = succeeded ]
    # Each run has its own log.
    [ -e "$home/job2/job.log" ]
}

@test "the host ignores the signals that ask a program to save or to end with its terminal" {
    host_run 1 "{\"run\": $(trains 1)}"
    start_host
    await trains_now 1
    kill -USR1 "$lead"
    kill -HUP "$lead"
    echo 0 >"$home/done-1"
    await_lead
    [ "$(outcome 1 .outcome)" = succeeded ]
}

@test "a guest may join a running job, even after the first run is over" {
    host_run 1 "{\"run\": $(trains 1)}"
    start_host
    await trains_now 1
    host_run 2 "{\"run\": $(trains 2)}"
    guests 2
    await trains_now 2
    echo 0 >"$home/done-1"
    await has_outcome 1
    host_run 3 "{\"run\": $(trains 3)}"
    guests 2 3
    await trains_now 3
    echo 0 >"$home/done-2"
    echo 0 >"$home/done-3"
    await_lead
    [ "$(outcome 2 .outcome) $(outcome 3 .outcome)" = 'succeeded succeeded' ]
}

@test "a guest whose folder gets another path is not started twice" {
    for run in 1 2 3; do
        host_run $run "{\"run\": $(trains $run)}"
    done
    guests 2
    start_host
    await trains_now 1
    await trains_now 2
    ln -s "$home" "$home/link"
    guests_in "$home/link" 2 3
    await trains_now 3 # the host has looked at the list
    await guests_are 1 '.*/job2$'
    run ! has_outcome 2
    echo 0 | tee "$home/done-1" "$home/done-2" >"$home/done-3"
    await_lead
    [ "$(outcome 2 .outcome)" = succeeded ]
}

# guests_are NUMBER PATTERN. A guest that is being started shows for a moment as two processes.
guests_are() {
    [ "$(pgrep -cf "^$worker guest $2")" = "$1" ]
}

guest_has_left() {
    ! pgrep -f "^$worker guest $home/job$1\$"
}

# gives_next RUN NEXT: the daemon has given another run to the phase of a guest.
gives_next() {
    mkdir -p "$home/phase/$1/control"
    gojq -n --arg dir "$home/phase/$2" '{number: 2, verb: "next", run_dir: $dir}' >"$home/phase/$1/control/.next"
    mv "$home/phase/$1/control/.next" "$home/phase/$1/control/command.json"
}

@test "a guest that has left is started again for a run that was given to its phase" {
    host_run 1 "{\"run\": $(trains 1)}"
    host_run 2 '{"run": "true"}'
    guests 2
    start_host
    await trains_now 1
    await has_outcome 2
    await guest_has_left 2
    new_run 4 '{"run": "true"}' "{\"job_dir\": \"$home/job2\"}"
    gives_next 2 4
    guests 2
    await has_outcome 4
    echo 0 >"$home/done-1"
    await_lead
    [ "$(outcome 4 .outcome)" = succeeded ]
}

@test "the first lead is started again for a run that was given to its phase" {
    host_run 1 '{"run": "true"}'
    host_run 2 "{\"run\": $(trains 2)}"
    guests 2
    start_host
    await trains_now 2
    await has_outcome 1
    await guest_has_left ''
    new_run 4 '{"run": "true"}'
    gives_next 1 4
    guests '' 2
    await has_outcome 4
    echo 0 >"$home/done-2"
    await_lead
}

@test "a guest that cannot open its next run tries again" {
    host_run 1 "{\"run\": $(trains 1)}"
    host_run 2 '{"run": "true"}'
    gojq '.linger_s = 300' "$home/phase/2/run.json" >"$home/run.json"
    mv "$home/run.json" "$home/phase/2/run.json"
    guests 2
    start_host
    await has_outcome 2
    new_run 4 '{"run": "true"}' "{\"job_dir\": \"$home/job2\"}"
    mv "$home/phase/4/run.json" "$home/run.json"
    echo '{' >"$home/phase/4/run.json"
    gives_next 2 4
    await grep -q 'cannot go on with' "$home/job2/job.log"
    await guest_has_left 2
    mv "$home/run.json" "$home/phase/4/run.json"
    await has_outcome 4
    echo 0 >"$home/done-1"
    await_lead
}

@test "a guest whose program cannot be started for a while is started later" {
    for run in 1 2; do
        host_run $run "{\"run\": $(trains $run)}"
    done
    cp "$worker" "$home/phase-worker"
    worker=$home/phase-worker
    start_host
    await trains_now 1
    mv "$worker" "$worker.away"
    guests 2
    await grep -q "cannot start $worker" "$job/job.log"
    mv "$worker.away" "$worker"
    await trains_now 2
    echo 0 | tee "$home/done-1" >"$home/done-2"
    await_lead
}

@test "a guest that comes while the host leaves is not started" {
    host_run 1 '{"run": "true"}'
    host_run 2 '{"run": "true"}'
    mkfifo "$home/slurm/config" # so scontrol does not answer
    start_host
    await grep -qs 'show config' "$home/slurm/calls" # whether Slurm would requeue a preempted job
    guests 2
    await_lead
    [ ! -e "$home/job2/job.log" ]
}

@test "the signal of the time limit reaches all runs, and the job is requeued once when all have saved" {
    for run in 1 2; do
        host_run $run "{\"checkpoint\": {\"path\": \"\$PHASED_OUT/step_{step}\", \"stop_signal\": \"TERM\", \"save_time_s\": 5, \"keep\": 0},
            \"run\": $(trains $run)}"
    done
    requeue_once
    guests 2
    start_host
    await trains_now 1
    await trains_now 2
    echo "JobState=RUNNING EndTime=$(date -d '+16 seconds' +%Y-%m-%dT%H:%M:%S) Restarts=0 PreemptTime=None" >"$home/slurm/show"
    kill -USR2 "$lead"
    await test -e "$home/restarted"
    [ "$(outcome 1 '[.outcome, .requeues]')" = '["timed_out",true]' ]
    [ "$(outcome 2 '[.outcome, .requeues]')" = '["timed_out",true]' ]
    [ "$(requeues)" = 1 ]
}

@test "near the limit, the requeue does not wait until the last run has to stop" {
    for run in 1 2; do
        host_run $run "{\"checkpoint\": {\"path\": \"\$PHASED_OUT/step_{step}\", \"stop_signal\": \"TERM\", \"save_time_s\": $((run == 1 ? 600 : 5)), \"keep\": 0},
            \"run\": $(trains $run)}"
    done
    requeue_once
    guests 2
    start_host
    await trains_now 1
    await trains_now 2
    echo "JobState=RUNNING EndTime=$(date -d '+110 seconds' +%Y-%m-%dT%H:%M:%S) Restarts=0 PreemptTime=None" >"$home/slurm/show"
    kill -USR2 "$lead" # the first stops at once, the second need not stop yet
    await test -e "$home/restarted"
    [ "$(outcome 1 '[.outcome, .requeues]')" = '["timed_out",true]' ]
    [ "$(outcome 2 '[.outcome, .requeues]')" = '["timed_out",true]' ]
    [ "$(requeues)" = 1 ]
}

# signal_guest TIME: the guest of run 2 gets USR2 far from the limit, and the job is requeued. Slurm
# says that it has preempted the job at this time.
signal_guest() {
    for run in 1 2; do
        host_run $run "{\"run\": $(trains $run)}"
    done
    echo "JobState=RUNNING EndTime=$(date -d '+1 hour' +%Y-%m-%dT%H:%M:%S) Restarts=0 PreemptTime=$1" >"$home/slurm/show"
    guests 2
    requeue_once
    start_host
    await trains_now 1
    await trains_now 2
    pkill -USR2 -f "^$worker guest $home/job2\$"
    await test -e "$home/restarted"
}

@test "a run that is to go on in the job stops the other runs, because the job must be requeued" {
    signal_guest "$(date +%Y-%m-%dT%H:%M:%S)"
    [ "$(outcome 1 '[.outcome, .requeues]')" = '["preempted",true]' ]
    [ "$(outcome 2 '[.outcome, .requeues]')" = '["preempted",true]' ]
    [ "$(requeues)" = 1 ]
}

@test "a run that was stopped by a signal without a known reason names the signal" {
    signal_guest None
    [ "$(outcome 2 '[.outcome, .message]')" = '["preempted","SIGUSR2 was sent to the batch script"]' ]
    [ "$(outcome 1 '[.outcome, .message]')" = '["preempted","another phase in the job needs its requeue"]' ]
}

@test "a second job with the same folder starts no run" {
    for run in 1 2; do
        host_run $run "{\"run\": $(trains $run)}"
    done
    guests 2
    start_host
    first=$lead
    await trains_now 2
    job_id=4712 start_host
    await_lead
    grep -q 'job 4711 serves' "$job/job.log"
    await guests_are 2 "$home/"
    lead=$first
    echo 0 | tee "$home/done-1" >"$home/done-2"
    await_lead
}

kill_guest() {
    pkill -KILL -f "^$worker guest $home/job$1\$"
}

deaths() {
    [ "$(grep -c "job$1 was killed by signal 9" "$job/job.log")" = "$2" ]
}

@test "a killed lead is started again after all processes that it left behind have ended" {
    host_run 1 "{\"run\": $(trains 1)}"
    host_run 2 "{\"run\": $(script "trap 'sleep 3; touch \"$home/ended\"; exit 0' TERM
        echo step=1 loss=1
        while :; do sleep 0.05 & wait \$! || true; done")}"
    guests 2
    start_host
    await trains_now 2
    kill_guest 2
    await has_outcome 2 # of the next lead
    [ -e "$home/ended" ]
    [ "$(outcome 2 .outcome)" = preempted ]
}

@test "a job does not stay for a lead that is killed again and again" {
    for run in 1 2; do
        host_run $run "{\"run\": $(trains $run)}"
    done
    guests 2
    start_host
    await trains_now 1
    for death in 1 2; do
        await kill_guest 2
        await deaths 2 $death
    done
    echo 0 >"$home/done-1"
    await has_outcome 1
    await kill_guest 2 # for the third time, and nobody else is left
    await_lead 1
    [ "$(outcome 1 .outcome)" = succeeded ]
}
