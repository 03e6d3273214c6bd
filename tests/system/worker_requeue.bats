#!/usr/bin/env bats
# phase-worker without Slurm, as in worker.bats: what follows a preemption, a requeue, the time limit and
# the end of a lead.

load worker/helpers

setup() {
    worker_setup
}

teardown() {
    worker_teardown
}

# Counts from where it resumes. It saves at TERM and every tenth step. It ends at step 60, and waits at
# step 50 until $out/enough exists.
counting='end=60 step=${PHASED_RESUME_STEP:-0}; trap "echo \$step >$PHASED_OUT/ckpt_\$step; exit 0" TERM
    while [ $step -lt $end ]; do
        sleep 0.02 || true
        [ $step -lt $((end - 10)) ] || [ -e $PHASED_OUT/enough ] || continue
        step=$((step + 1)); echo "step=$step loss=$step"
        if [ $((step % 10)) = 0 ]; then echo $step >$PHASED_OUT/ckpt_$step; fi
    done'

# new_training NUMBER [MORE]
new_training() {
    new_run "$1" "{\"checkpoint\": {\"path\": \"\$PHASED_OUT/ckpt_{step}\", \"save_time_s\": 10},
        \"run\": $(script "$counting")}" "${2:-{\}}"
}

past() {
    grep -q "step=$2 " "$home/phase/$1/log/rank-0.log"
}

preempted_state() {
    echo "JobState=RUNNING EndTime=2099-01-01T00:00:00 PreemptTime=2026-11-21T00:00:00" >"$home/slurm/show"
}

# The newest checkpoint of the first run.
saved_step() {
    journal 1 n1 'select(.type == "checkpoint") | .step' | sort -n | tail -n 1
}

requeues() {
    grep -c '^requeue ' "$home/slurm/calls"
}

@test "a preempted run requeues its job, and the daemon's next run begins in the requeued job" {
    start_daemon
    preempted_state
    echo 1 >"$home/slurm/requeue"
    new_training 1
    command_lead 2 1 '{"verb": "end", "when": "ended"}'
    start_lead 1
    await past 1 12
    terminate_step
    await has_outcome 1
    touch "$home/out/enough"
    local step=$(saved_step)
    new_training 2 "{\"resume\": {\"path\": \"$home/out/ckpt_$step\", \"step\": $step}}"
    command_lead 1 1 "{\"verb\": \"next\", \"run_dir\": \"$home/phase/2\", \"when\": \"ended\"}"
    await has_outcome 2
    [ "$(outcome 1 '[.outcome, .message, .requeues, .restarts]')" = '["preempted","preempted by Slurm",true,0]' ]
    [ "$(record 1 lead .type | xargs)" = "started stopping ended" ]
    # Every entry reached the daemon before the lead asked Slurm, unless that took a second.
    cmp <(record 1 n1 .) <(journal 1 n1 .) ||
        [ "$(gojq -n "$(stat -c %.3Y "$home/slurm/requeue") - $(journal 1 lead 'select(.type == "ended") | .time') > 0.9")" = true ]
    [ "$(outcome 2 '[.outcome, .requeues, .restarts, .last_step]')" = '["succeeded",false,1,60]' ]
    [ "$(requeues)" = 1 ]
    [ "$(gojq .job_id "$job/claim")" = 4711 ]
}

@test "a job without permission to be requeued gets it, and is left to the daemon if Slurm still refuses" {
    preempted_state
    touch "$home/slurm/forbidden"
    new_training 1
    start_lead 1
    await past 1 12
    terminate_step
    await_lead
    [ "$(outcome 1 '[.outcome, .requeues]')" = '["preempted",true]' ]
    [ "$(grep -v show "$home/slurm/calls" | xargs)" = "requeue 4711 update JobId=4711 Requeue=1 requeue 4711" ]
    grep -q 'Slurm does not requeue the job: Requested operation is presently disabled' "$job/job.log"
}

@test "a job that somebody requeues is not taken for a cancelled job" {
    echo "JobState=COMPLETING Requeue=1 Restarts=1 EndTime=Unknown PreemptTime=None" >"$home/slurm/show"
    new_training 1
    start_lead 1
    await past 1 12
    terminate_step
    kill -TERM "$lead" || true # it has ended, if its job step was quick to save
    await_lead
    [ "$(outcome 1 '[.outcome, .message, .requeues]')" = '["preempted","the job was requeued in Slurm",true]' ]
    [ "$(requeues)" = 0 ] # it is done already
    rm -r "$home/phase" "$job/claim"
    sed -i s/Restarts=1/Restarts=0/ "$home/slurm/show"
    new_training 1
    start_lead 1
    await past 1 12
    kill -TERM "$lead"
    await_lead 1
    [ "$(outcome 1 '[.outcome, .message, .requeues]')" = '["cancelled","the job was cancelled in Slurm",false]' ]
}

# slurm_says SHOW CODE: the lead's outcome of a run that exits with CODE, while Slurm shows the job so.
slurm_says() {
    rm -rf "$home/phase" "$job/claim" "$home/slurm/show" "$home/slurm/calls"
    [ -z "$1" ] || echo "$1 EndTime=2099-01-01T00:00:00 PreemptTime=None" >"$home/slurm/show"
    new_run 1 "{\"run\": \"exit $2\\n\"}"
    start_lead 1
    await has_outcome 1
    wait "$lead" || true
    outcome 1 '[.outcome, .cause, .message, .exit_code]'
}

@test "a run that has requeued its job is not over, however it exits" {
    local requeued='["preempted",null,"the job was requeued in Slurm",0]'
    [ "$(slurm_says 'JobState=COMPLETING Restarts=1' 0)" = "$requeued" ]
    [ "$(slurm_says 'JobState=COMPLETING Restarts=1' 1)" = "$requeued" ]
    [ "$(slurm_says 'JobState=PENDING Restarts=1' 0)" = "$requeued" ]
    [ "$(slurm_says 'JobState=RUNNING Restarts=0' 0)" = '["succeeded",null,"",0]' ]
    [ "$(slurm_says 'JobState=RUNNING Restarts=0' 1 | gojq -c '.[:2]')" = '["failed","exit"]' ]
    [ "$(slurm_says '' 0)" = '["succeeded",null,"",0]' ] # Slurm is down
    [ "$(grep -c 'show job' "$home/slurm/calls")" -le 2 ] # at the start and at the end
}

@test "a run that has requeued its job is not over, even if Slurm answers slowly" {
    echo 4 >"$home/slurm/slow"
    [ "$(slurm_says 'JobState=COMPLETING Restarts=1' 1 | gojq -r '.[0]')" = preempted ]
}

@test "a run that has ended stays a success if a stop comes while Slurm is asked" {
    start_daemon
    mkdir -p "$home/slurm"
    echo 'JobState=RUNNING Restarts=0 EndTime=2099-01-01T00:00:00 PreemptTime=None' >"$home/slurm/show"
    new_run 1 "{\"run\": $(script "echo ready; until [ -e $home/go ]; do sleep 0.1; done")}"
    start_lead 1
    await grep -q ready "$home/phase/1/log/rank-0.log"
    command_lead 0 1 '{"verb": "stop", "why": "held"}'
    echo "mv $home/commands/0 $home/commands/1 2>/dev/null; until grep -qx 1 $home/obeyed.1; do sleep 0.02; done" >"$home/slurm/asked"
    touch "$home/go"
    await has_outcome 1
    grep -qx 1 "$home/obeyed.1"
    [ "$(outcome 1 '[.outcome, .message]')" = '["succeeded",""]' ]
}

# A controller that was killed right after it had started the job answers like this.
@test "a job whose start Slurm has forgotten is not taken for a cancelled job" {
    echo "JobState=PENDING Restarts=0 EndTime=Unknown PreemptTime=None" >"$home/slurm/show"
    new_training 1
    FAKE_SRUN_ERROR="Unable to confirm allocation for job 4711: Job is pending execution" start_lead 1
    await_lead
    [ "$(outcome 1 '[.outcome, .message, .requeues]')" = '["preempted","Slurm has forgotten that the job runs",true]' ]
    rm -r "$home/phase" "$job/claim"
    new_training 1
    start_lead 1
    await past 1 12
    terminate_step
    await_lead
    [ "$(outcome 1 '[.outcome, .requeues]')" = '["preempted",true]' ] # the job will start again
    [ "$(requeues)" = 0 ]
}

# each_requeues COUNT MORE: the ends of COUNT runs in a row that are preempted before their first step.
each_requeues() {
    local attempt
    rm -rf "$home/phase" "$job/claim"
    for attempt in $(seq "$1"); do
        new_run "$attempt" "{\"run\": $(script 'echo ready; sleep 1000')$2}"
        start_lead "$attempt"
        await grep -q ready "$home/phase/$attempt/log/rank-0.log"
        terminate_step
        await process_has_ended "$lead"
        outcome "$attempt" '[.outcome, .requeues]'
    done | xargs
}

@test "a preempted run without a step requeues its job, but not the third in a row if steps can be expected" {
    local goes_on='[preempted,true]' ends='[preempted,false]'
    preempted_state
    [ "$(each_requeues 3 ', "checkpoint": {"path": "$PHASED_OUT/ckpt_{step}", "save_time_s": 10}')" = \
        "$goes_on $goes_on $ends" ]
    [ "$(each_requeues 4 '')" = "$goes_on $goes_on $goes_on $goes_on" ]
}

@test "a run that was preempted after step 0 requeues its job" {
    preempted_state
    touch "$home/slurm/forbidden"
    new_run 1 "{\"run\": \"echo step=0 loss=3; sleep 60\"}"
    start_lead 1
    await past 1 0
    terminate_step
    await_lead
    [ "$(outcome 1 '[.outcome, .last_step, .requeues]')" = '["preempted",0,true]' ]
}

@test "a job whose folder is served by another job leaves the folder alone" {
    new_training 1
    touch "$home/out/enough"
    echo 4712 >"$job/claim"
    start_lead 1
    await_lead
    grep -q "job 4712 serves $job already" "$job/job.log"
    [ -z "$(ls "$home/phase/1/journal")" ]
    rm "$job/claim"
    start_lead 1
    await_lead
    [ "$(outcome 1 .outcome)" = succeeded ]
    [ "$(gojq .job_id "$job/claim")" = 4711 ]
}

@test "a run that was killed with its job gets its outcome from its journals" {
    start_daemon
    new_training 1
    command_lead 1 1 '{"verb": "end", "when": "ended"}'
    start_lead 1
    await grep -q '"step": 25,' "$home/phase/1/journal/n1.jsonl"
    kill_job
    [ ! -e "$home/phase/1/outcome.json" ]
    start_again 1
    await_lead
    [ "$(outcome 1 '[.outcome, .cause, .message, .restarts, .requeues]')" = '["preempted",null,"killed with its job",0,true]' ]
    [ "$(outcome 1 '.last_step >= 25 and .started > 1.0e9 and .ended > .started')" = true ]
    [ "$(outcome 1 .finals.n1)" = "$(journal 1 n1 .seq | tail -n 1)" ]
    [ "$(outcome 1 '[.outcome, .finals, .last_step]')" = \
        "$(record 1 lead 'select(.type == "ended") | [.outcome, .finals, .last_step]')" ]
}

@test "a run that had succeeded when its lead was killed keeps no parts of its input" {
    seq 4 >"$home/input"
    new_run 1 "{\"launch\": \"group\", \"parallel\": {\"tensor\": 1, \"pipeline\": 1, \"data\": 1},
        \"shard\": {\"input\": \"$home/input\", \"by\": \"lines\"}, \"run\": \"true\"}"
    echo '{"seq": 1, "time": 1.5, "type": "started", "job_id": 4711, "restarts": 0, "nodes": ["n1"]}' \
        >"$home/phase/1/journal/lead.jsonl"
    echo '{"seq": 1, "time": 2.5, "type": "exited", "ranks": [], "done": true}' >"$home/phase/1/journal/n1.jsonl"
    mkdir "$home/phase/shards"
    SLURM_RESTART_COUNT=1 start_lead 1
    await_lead
    [ "$(outcome 1 .outcome)" = succeeded ]
    [ ! -e "$home/phase/shards" ]
}

# As with ranks in job steps of their own: Slurm signals these, too, and the ranks save and exit with 0.
@test "a run is not taken for a success if Slurm told its job step to stop and the lead could not hear of it" {
    new_run 1 "{$two_by_two, \"run\": $(script 'echo ready; until [ -e $PHASED_OUT/go ]; do sleep 0.1; done; echo saved')}"
    start_lead 1 2
    await grep -q ready "$home/phase/1/log/rank-1.log"
    await grep -q ready "$home/phase/1/log/rank-0.log"
    kill -STOP "$lead"
    pkill -TERM -f "^[^ ]*/phase-worker task $job\$"
    touch "$home/out/go"
    await grep -q saved "$home/phase/1/log/rank-0.log"
    await grep -q saved "$home/phase/1/log/rank-1.log"
    kill -KILL "$lead"
    wait "$lead" || true
    await no_process_names "$job"
    start_again 1
    await_lead
    [ "$(journal 1 n1 'select(.type == "exited") | [.ranks[0].code, .done]')" = '[0,false]' ]
    [ "$(outcome 1 '[.outcome, .message]')" = '["preempted","killed with its job"]' ]
}

@test "a run whose lead is killed while it stops the run ends with the reason of the stop" {
    start_daemon
    new_run 1 "{\"run\": $(script 'trap "" TERM; echo ready; sleep 1000')}"
    start_lead 1
    await grep -q ready "$home/phase/1/log/rank-0.log"
    command_lead 1 1 '{"verb": "stop", "why": "cancelled"}'
    command_lead 1 2 '{"verb": "end", "when": "ended"}'
    await grep -q stopping "$home/phase/1/journal/lead.jsonl"
    kill_job
    start_again 1
    await_lead 1
    [ "$(outcome 1 '[.outcome, .message, .requeues]')" = '["cancelled","stopped: cancelled",false]' ]
}

@test "an error that srun printed long before a preemption does not make the job step a lost one" {
    export FAKE_SRUN_MURMURS='eio_message_socket_accept: slurm_receive_msg: Socket timed out'
    echo "JobState=RUNNING EndTime=2099-01-01T00:00:00 Restarts=0 PreemptTime=None" >"$home/slurm/show"
    new_training 1
    start_lead 1
    await grep -q "srun: error: $FAKE_SRUN_MURMURS" "$job/job.log"
    local said=$SECONDS
    is_old() { [ $SECONDS -gt $((said + 11)) ]; }
    await past 1 12
    await is_old
    terminate_step
    await_lead
    [ "$(outcome 1 '[.outcome, .message]')" = '["preempted","SIGTERM was sent to the job step"]' ]
}

@test "a requeued job asks for its GPUs again if the lead before it has not begun the run" {
    export PHASED_NVML=$(dirname "$worker")/../tests/fake/libnvidia-ml.so
    new_run 1 '{"run": "echo $kind", "params": {"kind": "any"},
        "by_gpu": [{"match": "h100", "phase": {"params": {"kind": "h100"}}},
                   {"match": "h200", "phase": {"params": {"kind": "h200"}}}]}'
    echo '{"model": "NVIDIA H100 80GB HBM3", "memory_gib": 79.6, "source": "driver", "by_gpu": "h100"}' \
        >"$home/phase/1/hardware.json"
    start_lead 1
    await_lead
    grep -q h200 "$home/phase/1/log/rank-0.log"
    [ "$(journal 1 lead 'select(.type == "started") | .hardware.by_gpu')" = h200 ]
    [ "$(gojq -r .model "$home/phase/1/hardware.json")" = 'NVIDIA H200' ]
}

# Run 1 is preempted, and run 2 ends in the same job.
goes_on_alone() {
    start_lead 1
    await past 1 12
    terminate_step
    await has_outcome 1
    touch "$home/out/enough"
    await has_outcome 2
}

@test "without a daemon a preempted phase goes on alone from its newest whole checkpoint" {
    preempted_state
    echo 1 >"$home/slurm/requeue"
    new_training 1
    goes_on_alone
    local step=$(saved_step)
    [ "$(gojq -c '[.run, .attempt, .alone, .resume.step, .run_dir]' "$home/phase/2/run.json")" = "[0,2,true,$step,\"$home/phase/2\"]" ]
    [ "$(gojq -r .run_dir "$job/current.json")" = "$home/phase/2" ]
    [ "$(outcome 2 '[.run, .outcome, .restarts, .last_step]')" = '[0,"succeeded",1,60]' ]
    [ "$(journal 2 n1 'select(.type == "metric") | .step' | head -n 1)" = $((step + 1)) ]
    [ "$(journal 2 lead .type | xargs)" = "started ended" ]
}

@test "without a daemon a run that is preempted before its first step goes on alone" {
    preempted_state
    echo 1 >"$home/slurm/requeue"
    new_run 1 "{\"checkpoint\": {\"path\": \"\$PHASED_OUT/ckpt_{step}\", \"save_time_s\": 10},
        \"run\": $(script "[ -e $home/out/enough ] || { echo ready; sleep 1000; }")}"
    start_lead 1
    await grep -q ready "$home/phase/1/log/rank-0.log"
    touch "$home/out/enough"
    terminate_step
    await has_outcome 2
    [ "$(outcome 2 '[.run, .outcome, .restarts]')" = '[0,"succeeded",1]' ]
}

@test "without a daemon a script that requeues itself and prints no step goes on alone" {
    echo 'JobState=COMPLETING Restarts=1 EndTime=Unknown PreemptTime=None' >"$home/slurm/show"
    new_run 1 '{"run": "exit 0\n"}'
    start_lead 1
    await_lead
    [ "$(outcome 1 '[.outcome, .requeues]')" = '["preempted",true]' ]
    [ "$(requeues)" = 0 ]
    echo 'JobState=RUNNING Restarts=1 EndTime=2099-01-01T00:00:00 PreemptTime=None' >"$home/slurm/show"
    start_again 1
    await has_outcome 2
    [ "$(outcome 2 '[.run, .outcome, .restarts]')" = '[0,"succeeded",1]' ]
}

@test "without a daemon a phase goes on alone with the run that a daemon has prepared for its job" {
    preempted_state
    echo 1 >"$home/slurm/requeue"
    ln -s "$home" "$home/link" # by which the daemon knew the home
    new_training 1
    new_training 2
    gojq --arg dir "$home/link/job" '.job_dir = $dir | .attempt = 2' "$home/phase/2/run.json" >"$home/run.json"
    mv "$home/run.json" "$home/phase/2/run.json"
    goes_on_alone
    [ "$(outcome 2 '[.run, .outcome]')" = '[2,"succeeded"]' ]
}

@test "a phase that goes on alone skips checkpoints that are cut or gone" {
    new_training 1
    start_lead 1
    await past 1 45
    await grep -q ckpt_40 "$home/phase/1/journal/n1.jsonl"
    kill_job
    touch "$home/out/enough"
    : >"$home/out/ckpt_40"
    rm "$home/out/ckpt_30"
    rm -f "$home"/out/ckpt_[5-9]? "$home"/out/ckpt_???
    start_again 1
    await has_outcome 2
    [ "$(gojq -c .resume "$home/phase/2/run.json")" = "{\"path\":\"$home/out/ckpt_20\",\"step\":20}" ]
    [ "$(outcome 2 .outcome)" = succeeded ]
}

@test "a run that began alone reports to the daemon when the daemon is back, and obeys it" {
    local counting=${counting/end=60/end=1000000} # the second run goes on until it is told to stop
    new_training 1
    start_lead 1
    await past 1 25
    kill_job
    start_again 1
    await grep -q step= "$home/phase/2/log/rank-0.log"
    # Does what the daemon does: a number, a secret, and `next` over the channel that the lead
    # reads.
    head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' >"$home/phase/2/secret"
    ln -s "$home/phase/2" "$home/runs/2"
    gojq 'del(.alone) | .run = 2' "$home/phase/2/run.json" >"$home/run.new"
    mv "$home/run.new" "$home/phase/2/run.json"
    command_lead 1 1 "{\"verb\": \"next\", \"run_dir\": \"$home/phase/2\", \"when\": \"ended\"}"
    start_daemon
    await test -s "$home/record/2/n1.jsonl"
    await test -s "$home/record/2/lead.jsonl"
    command_lead 2 1 '{"verb": "stop", "why": "cancelled"}'
    await_lead 1
    [ "$(outcome 2 '[.run, .outcome]')" = '[2,"cancelled"]' ]
    for node in n1 lead; do # a daemon that is slow does not get the last entries of a cancelled run
        cmp <(record 2 $node .) <(journal 2 $node . | head -n "$(record 2 $node .seq | wc -l)")
    done
    [ ! -e "$home/refused" ]
}

@test "a lead waits for a daemon that is there but does not decide, and begins no run without it" {
    start_daemon
    new_training 1
    start_lead 1
    await past 1 15
    kill_job
    start_again 1
    await has_outcome 1
    sleep 12 # longer than a daemon may be silent
    kill -0 "$lead"
    [ ! -e "$home/phase/2" ]
    command_lead 1 1 '{"verb": "end"}'
    await_lead
}

@test "a phase that goes on alone without new steps is left to the daemon" {
    new_training 1
    local attempt
    for attempt in 1 2 3; do
        new_training $attempt '{"resume": {"path": "/nowhere", "step": 50}}'
        gojq -n --argjson attempt $attempt '{run: $attempt, job_id: 4711, restarts: 0, outcome: "preempted", cause: null,
            exit_code: 0, signal: 0, message: "", guard: null, started: 1.5, ended: 2.5, finals: {}, last_step: 50,
            requeues: true}' >"$home/phase/$attempt/outcome.json"
    done
    start_lead 3
    await_lead
    grep -q 'three runs in a row made no new step' "$job/job.log"
    [ ! -e "$home/phase/4" ]
}

@test "each stop signal lets a program save when Slurm's TERM reaches all its processes" {
    preempted_state
    local signal
    for signal in TERM USR1 USR2 INT; do
        rm -rf "$home/phase" "$home/out"
        new_run 1 "{$two_by_two, \"checkpoint\": {\"path\": \"\$PHASED_OUT/ckpt_{step}\", \"stop_signal\": \"$signal\",
            \"save_time_s\": 20}, \"run\": $(script 'for name in TERM USR1 USR2 INT; do trap "echo got $name; told=$name" $name; done
            [ '$signal' = TERM ] || trap "" TERM
            told=; echo ready; until [ "$told" ]; do sleep 0.2 || true; done
            sleep 0.3; echo 1 >$PHASED_OUT/ckpt_$((RANK + 1)); exit 0')}"
        start_lead 1 2
        for rank in 0 1 2 3; do await grep -q ready "$home/phase/1/log/rank-$rank.log"; done
        terminate_step
        await_lead
        [ "$(outcome 1 '[.outcome, .requeues]')" = '["preempted",true]' ]
        for rank in 0 1 2 3; do
            [ "$(grep -o "got .*" "$home/phase/1/log/rank-$rank.log" | xargs)" = "got $signal" ]
        done
        [ "$(journal 1 n1 'select(.type == "checkpoint") | .step' | sort | xargs)" = "1 2 3 4" ]
    done
}

@test "a program that ignores its stop signal is killed with its job, and its last checkpoint counts" {
    preempted_state
    new_run 1 "{\"checkpoint\": {\"path\": \"\$PHASED_OUT/ckpt_{step}\", \"save_time_s\": 600},
        \"run\": $(script 'trap "" TERM; echo step=7 loss=1; echo 1 >$PHASED_OUT/ckpt_7; while :; do sleep 0.2 || true; done')}"
    start_lead 1
    await grep -q ckpt_7 "$home/phase/1/journal/n1.jsonl"
    terminate_step
    await grep -q stopping "$home/phase/1/journal/lead.jsonl"
    sleep 2 # the grace
    kill -TERM "$lead"
    await_lead
    [ "$(outcome 1 '[.outcome, .requeues, .last_step]')" = '["preempted",true,7]' ]
    [ "$(journal 1 n1 'select(.type == "exited") | .ranks[0].signal')" = 9 ]
}

@test "USR2 with much time left is a preemption" {
    preempted_state
    new_training 1
    start_lead 1
    await past 1 12
    kill -USR2 "$lead"
    await_lead
    [ "$(outcome 1 '[.outcome, .message, .requeues]')" = '["preempted","preempted by Slurm",true]' ]
}

@test "a run that timed out without a checkpoint does not go on by itself" {
    new_run 1 "{\"run\": $(script 'echo step=5 loss=1; echo ready; sleep 1000')}"
    start_lead 1
    await grep -q ready "$home/phase/1/log/rank-0.log"
    kill -USR2 "$lead"
    await_lead 1
    [ "$(outcome 1 '[.outcome, .requeues, .last_step]')" = '["timed_out",false,5]' ]
}

# suspend SECONDS COMMAND...: Slurm suspends the lead for so long, and meanwhile the command runs.
suspend() {
    local end=$((SECONDS + $1 + 1))
    is_over() { [ "$SECONDS" -ge "$end" ]; }
    kill -STOP "$lead"
    "${@:2}"
    await is_over
    kill -CONT "$lead"
}

@test "a lead whose job was suspended longer than the lead lingers still takes the next run" {
    start_daemon
    new_run 1 '{"run": "true"}' '{"linger_s": 5}'
    new_run 2 '{"run": "true"}'
    start_lead 1
    await grep -qs '"ended"' "$home/phase/1/journal/lead.jsonl"
    suspend 11 command_lead 1 1 "{\"verb\": \"next\", \"run_dir\": \"$home/phase/2\"}"
    await_lead
    [ "$(outcome 2 .outcome)" = succeeded ]
}

@test "a lead that asks for a run, and whose job was suspended, still hears the daemon" {
    start_daemon
    new_run 1 '{"run": "true"}'
    new_run 2 '{"run": "true"}'
    start_lead 1
    await_lead
    rm "$home/obeyed.1"
    start_again 1
    await test -e "$home/obeyed.1"
    suspend 11 command_lead 1 1 "{\"verb\": \"next\", \"run_dir\": \"$home/phase/2\"}"
    await_lead
    [ "$(outcome 2 .outcome)" = succeeded ]
}
