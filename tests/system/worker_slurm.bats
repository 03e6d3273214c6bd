#!/usr/bin/env bats
# phase-worker under the real Slurm of the sandbox: what only Slurm can do to a job.

load worker/helpers

setup_file() {
    command -v slurmctld slurmd munged >/dev/null || PATH=$PATH:/usr/sbin
    export sandbox_dir
    sandbox_dir=$(mktemp -d /tmp/phased-test-XXXXXX)
    "${SRC:-$BATS_TEST_DIRNAME/../..}/etc/sandbox/sandbox" start "$sandbox_dir/sandbox" >/dev/null
    export SLURM_CONF=$sandbox_dir/sandbox/slurm.conf
    sed -i 's/GraceTime=.*/GraceTime=60/' "$SLURM_CONF" # a busy machine needs seconds for each step
    scontrol reconfigure
}

teardown_file() {
    [ -n "${sandbox_dir:-}" ] || return 0
    "${SRC:-$BATS_TEST_DIRNAME/../..}/etc/sandbox/sandbox" stop "$sandbox_dir/sandbox"
    rm -rf "$sandbox_dir"
}

setup() {
    command -v sbatch >/dev/null || skip "Slurm is not installed"
    WAIT_S=300
    local conf=$SLURM_CONF
    worker_setup
    export SLURM_CONF=$conf PATH=${PATH#*:} # the real srun
}

teardown() {
    [ -z "${job_id:-}" ] || scancel "$job_id" "${other_id:-$job_id}" "${plain_id:-$job_id}"
    without_setting
    worker_teardown
}

# submit RUN SBATCH-OPTION...: submits the job like the daemon.
submit() {
    printf '{"run_dir": "%s"}' "$home/phase/$1" >"$job/current.json"
    printf '#!/bin/sh\nexec "%s" lead "%s"\n' "$worker" "$job" >"$job/job.sh"
    job_id=$(sbatch --parsable --requeue --open-mode=append -o "$job/job.log" "${@:2}" "$job/job.sh")
}

job_is_over() {
    local state
    state=$(squeue -h -j "$job_id" -t all -o %T) && [[ $state =~ ^(COMPLETED|FAILED|CANCELLED|PREEMPTED|TIMEOUT)$ ]]
}

await_ready() {
    local rank
    for rank in $(seq 0 $(($1 - 1))); do
        await grep -q ready "$home/phase/1/log/rank-$rank.log"
    done
}

# Only the first node saves: all nodes would write the same file. Slurm's SIGTERM may end the sleep
# before it reaches the shell. With `-e` the shell would then end without its trap.
saving='trap "sleep 0.2; [ $NODE_RANK != 0 ] || echo 1 >$PHASED_OUT/ckpt_3; exit 0" TERM; echo ready; while :; do sleep 0.2 || true; done'

@test "a job on two nodes with pretend GPUs trains and succeeds" {
    start_daemon
    new_run 1 "{\"resources\": {\"nodes\": 2, \"gpus\": 2}, \"run\": $(script 'echo "gpus $CUDA_VISIBLE_DEVICES"; echo step=1 loss=0.5')}"
    submit 1 -N 2 --gres=gpu:h100:2 -t 5
    await job_is_over
    [ "$(outcome 1 '[.outcome, .job_id]')" = "[\"succeeded\",$job_id]" ]
    [ "$(cut -d' ' -f2- "$home"/phase/1/log/rank-*.log | grep -c 'gpus 0,1')" = 4 ]
    [ "$(record 1 lead 'select(.type == "started") | (.end_time - .time) > 200')" = true ]
    [ "$(squeue -h -j "$job_id" -t all -o %T)" = COMPLETED ]
}

@test "a preempted job saves within the grace, reports it, and frees its nodes" {
    new_run 1 "{\"resources\": {\"nodes\": 4, \"gpus\": 8}, \"launch\": \"node\",
        \"checkpoint\": {\"path\": \"\$PHASED_OUT/ckpt_{step}\", \"save_time_s\": 10}, \"run\": $(script "$saving")}"
    submit 1 -p preempt -N 4 --gres=gpu:h100:8 -t 5
    await_ready 4
    other_id=$(sbatch --parsable -p prod -N 1 --gres=gpu:h100:8 -o /dev/null --wrap 'sleep 100')
    await has_outcome 1
    [ "$(outcome 1 '[.outcome, .message]')" = '["preempted","preempted by Slurm"]' ]
    [ "$(outcome 1 '.finals | keys | length')" = 4 ]
    [ "$(cat "$home"/phase/1/journal/n*.jsonl | gojq 'select(.type == "checkpoint") | .step')" = 3 ]
}

# Whether Slurm lets the job wait after a requeue; and the start time as phased sets it.
restarts_are() {
    [[ $(scontrol show job "$job_id") == *" Restarts=$1 "* ]]
}

# Slurm may refuse the first updates after a requeue. Each update puts the start off again.
begin_soon() {
    scontrol update JobId="$job_id" StartTime=now+2 && await is_past_its_begin
}
is_past_its_begin() {
    local shown
    shown=$(scontrol show job "$job_id") && [[ $shown != *Reason=BeginTime* ]]
}

# The other job got them. It ends after three seconds.
nodes_are_free() {
    [[ $(squeue -h -j "$other_id" -t all -o %T) == @(RUNNING|COMPLETING|COMPLETED) ]]
}

# Counts from where it resumes, with a checkpoint at TERM. It ends at step 60, and waits at step 50 until
# $out/enough exists. A step takes 50 ms.
counting='end=60 step=${PHASED_RESUME_STEP:-0}; trap "sleep 0.2; echo \$step >$PHASED_OUT/ckpt_\$step; exit 0" TERM
    while [ $step -lt $end ]; do
        sleep 0.05 || true
        [ $step -lt $((end - 10)) ] || [ -e $PHASED_OUT/enough ] || continue
        step=$((step + 1)); echo "step=$step loss=$step"
    done'

# preempt_training MORE-OF-RUN-1 SBATCH-OPTION...: goes on until the requeued job waits.
preempt_training() {
    new_run 1 "{\"resources\": {\"nodes\": 4, \"gpus\": 8}, \"launch\": \"node\",
        \"checkpoint\": {\"path\": \"\$PHASED_OUT/ckpt_{step}\", \"save_time_s\": 10}, \"run\": $(script "$counting")}" "$1"
    submit 1 -p preempt -N 4 --gres=gpu:h100:8 -t 5 "${@:2}"
    await grep -q step=12 "$home/phase/1/log/rank-0.log"
    other_id=$(sbatch --parsable -p prod -N 4 --gres=gpu:h100:8 -o /dev/null --wrap 'sleep 3')
    await has_outcome 1
    touch "$home/out/enough"
    [ "$(outcome 1 '[.outcome, .message, .requeues]')" = '["preempted","preempted by Slurm",true]' ]
    await nodes_are_free
    local started newest=$home/out/$(ls -t "$home/out" | grep -m 1 ckpt_)
    started=$(scontrol show job "$other_id" | grep -o 'StartTime=[^ ]*' | cut -d= -f2)
    released=$(($(date -d "$started" +%s) - $(stat -c %Y "$newest")))
    echo "# from the last checkpoint to the preemptor's start: $released s" >&3
    [ "$released" -lt 45 ] # the grace is 60 s: a lead that stayed until then would hold the nodes
    await restarts_are 1
    saved=$(ls "$home/out" | grep -o 'ckpt_[0-9]*' | cut -d_ -f2 | sort -n | tail -n 1)
}

@test "without a daemon a preempted job goes on to the end, even if it was submitted with --no-requeue" {
    preempt_training '{}' --no-requeue
    await begin_soon
    await has_outcome 2
    [ "$(outcome 2 '[.run, .outcome, .job_id, .restarts, .last_step]')" = "[0,\"succeeded\",$job_id,1,60]" ]
    [ "$(gojq -c '[.alone, .resume.step]' "$home/phase/2/run.json")" = "[true,$saved]" ]
    [ "$(journal 1 lead .type | xargs)" = "started stopping ended" ]
    [ "$(gojq .job_id "$job/claim")" = "$job_id" ]
    await job_is_over
    [ "$(squeue -h -j "$job_id" -t all -o %T)" = COMPLETED ]
}

@test "a phase goes on through three walltimes in one job, and no step is lost" {
    local run resume='{}' saved=0
    start_daemon
    for run in 1 2 3; do
        new_run $run "{\"checkpoint\": {\"path\": \"\$PHASED_OUT/ckpt_{step}\", \"save_time_s\": 5}, \"run\": $(script "${counting/end=60/end=1000000}")}" "$resume"
        if [ $run = 1 ]; then
            # The signal comes when at most 45 s of the minute are left. It would end a lead that has not
            # yet begun: on a busy machine that takes seconds.
            submit 1 -t 1 --signal=B:USR2@45
        else
            command_lead $((run - 1)) 1 "{\"verb\": \"next\", \"run_dir\": \"$home/phase/$run\", \"when\": \"ended\"}"
            await restarts_are $((run - 1))
            await begin_soon
        fi
        await has_outcome $run
        [ "$(outcome $run '[.outcome, .message, .requeues]')" = '["timed_out","the time limit of the job is near",true]' ]
        [ "$(cat "$home/phase/$run"/journal/n?.jsonl | gojq 'select(.type == "metric") | .step' | head -n 1)" = $((saved + 1)) ]
        saved=$(ls "$home/out" | grep -o 'ckpt_[0-9]*' | cut -d_ -f2 | sort -n | tail -n 1)
        resume="{\"resume\": {\"path\": \"$home/out/ckpt_$saved\", \"step\": $saved}}"
    done
    [ "$(cat "$home"/phase/?/journal/n?.jsonl | gojq 'select(.type == "metric") | .step' | sort -n | uniq -d | wc -l)" -le 2 ]
}

# with_setting NAME=VALUE: changes a setting of Slurm for this test.
with_setting() {
    cp "$SLURM_CONF" "$home/slurm.conf"
    sed -i "/^${1%%=*}=/d" "$SLURM_CONF"
    echo "$1" >>"$SLURM_CONF"
    scontrol reconfigure
}

without_setting() {
    [ -e "$home/slurm.conf" ] || return 0
    cat "$home/slurm.conf" >"$SLURM_CONF"
    scontrol reconfigure
}

@test "a user's signal that the site sends at a preemption is not taken for the time limit" {
    with_setting SlurmctldParameters=preempt_send_user_signal
    new_run 1 "{\"resources\": {\"nodes\": 2, \"gpus\": 8}, \"launch\": \"node\",
        \"checkpoint\": {\"path\": \"\$PHASED_OUT/ckpt_{step}\", \"save_time_s\": 10}, \"run\": $(script "$counting")}"
    submit 1 -p preempt -N 2 --gres=gpu:h100:8 -t 30 --signal=B:USR2@60
    await grep -q step=12 "$home/phase/1/log/rank-0.log"
    # A script without phased shows what Slurm sends.
    printf '#!/bin/bash\ntrap "touch %s/told; exit" USR2\ntouch %s/waits\nwhile :; do sleep 0.1; done\n' "$home" "$home" >"$home/plain.sh"
    plain_id=$(sbatch --parsable -p preempt -N 2 --gres=gpu:h100:8 -t 30 --signal=B:USR2@60 -o /dev/null "$home/plain.sh")
    await test -e "$home/waits"
    other_id=$(sbatch --parsable -p prod -N 4 --gres=gpu:h100:8 -o /dev/null --wrap 'sleep 3')
    await has_outcome 1
    [ "$(outcome 1 '[.outcome, .message, .requeues]')" = '["preempted","preempted by Slurm",true]' ]
    await test -e "$home/told"
    await nodes_are_free
}

@test "a lead that is killed ends its job, and no node is held idle" {
    new_run 1 "{\"resources\": {\"nodes\": 2, \"gpus\": 1}, \"run\": $(script 'trap "echo saved; exit 0" TERM; echo ready; while :; do sleep 0.2 || true; done')}"
    submit 1 -N 2 --gres=gpu:h100:1 -t 5
    await_ready 2
    kill -KILL "$(pgrep -f "^[^ ]*/phase-worker lead $job\$")"
    await job_is_over
    await no_process_names "$job"
    await no_process_names "PHASED_RUN_DIR=$home"
    grep -q saved "$home/phase/1/log/rank-0.log"
}

@test "a job that scancel ends is cancelled" {
    with_setting KillWait=60 # for the lead to write the outcome
    new_run 1 "{\"checkpoint\": {\"path\": \"\$PHASED_OUT/ckpt_{step}\", \"save_time_s\": 10}, \"run\": $(script "$saving")}"
    submit 1 -t 5
    await_ready 1
    scancel "$job_id"
    await has_outcome 1
    [ "$(outcome 1 '[.outcome, .message]')" = '["cancelled","the job was cancelled in Slurm"]' ]
}

@test "an agent that is killed ends the job" {
    new_run 1 "{\"resources\": {\"nodes\": 2, \"gpus\": 1}, \"run\": $(script 'echo ready; sleep 1000')}"
    submit 1 -N 2 --gres=gpu:h100:1 -t 5
    await_ready 2
    kill -KILL "$(pgrep -f "^[^ ]*/phase-worker node $job\$" | tail -n 1)"
    await job_is_over
    [ "$(outcome 1 '[.outcome, .cause]')" = '["failed","node_fail"]' ]
    [ "$(squeue -h -j "$job_id" -t all -o %T)" = FAILED ]
}

@test "each next run begins in the same allocation" {
    start_daemon
    local run
    for run in 1 2 3; do
        new_run $run '{"resources": {"nodes": 2, "gpus": 2}, "run": "echo step=1 loss=1"}' '{"linger_s": 20}'
        command_lead $run 1 "{\"verb\": \"next\", \"run_dir\": \"$home/phase/$((run + 1))\", \"when\": \"ended\"}"
    done
    command_lead 3 1 '{"verb": "end", "when": "ended"}'
    submit 1 -N 2 --gres=gpu:h100:2 -t 5
    await has_outcome 3
    await job_is_over
    [ "$(cat "$home"/phase/?/outcome.json | gojq -c '[.outcome, .job_id, .restarts]' | uniq -c | xargs)" = \
        "3 [succeeded,$job_id,0]" ]
    echo "# last exit to first exec: $(gojq -sc 'sort_by(.run) | [range(1; 3) as $i | .[$i].started - .[$i - 1].ended] | sort' "$home"/phase/?/outcome.json) s" >&3
}
