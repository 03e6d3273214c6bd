#!/usr/bin/env bats
# phase-worker under a real Slurm, the sandbox: what only Slurm can do to a job.

load worker/helpers

setup_file() {
    command -v slurmctld slurmd munged >/dev/null || PATH=$PATH:/usr/sbin
    command -v slurmctld slurmd munged >/dev/null || skip "Slurm's daemons are not installed"
    export sandbox_dir
    sandbox_dir=$(mktemp -d /tmp/phased-test-XXXXXX)
    "${SRC:-$BATS_TEST_DIRNAME/../..}/etc/sandbox/sandbox" start "$sandbox_dir/sandbox" >/dev/null
    export SLURM_CONF=$sandbox_dir/sandbox/slurm.conf
}

teardown_file() {
    [ -n "${sandbox_dir:-}" ] || return 0
    "${SRC:-$BATS_TEST_DIRNAME/../..}/etc/sandbox/sandbox" stop "$sandbox_dir/sandbox"
    rm -rf "$sandbox_dir"
}

setup() {
    command -v sbatch >/dev/null || skip "Slurm is not installed"
    local conf=$SLURM_CONF
    worker_setup
    export SLURM_CONF=$conf PATH=${PATH#*:} # the real srun
}

teardown() {
    [ -z "${job_id:-}" ] || scancel "$job_id" "${other_id:-$job_id}"
    worker_teardown
}

# submit RUN SBATCH-OPTION...: the job as the daemon submits it.
submit() {
    jq -n --arg dir "$home/run-$1" '{run_dir: $dir}' >"$job/current.json"
    printf '#!/bin/sh\nexec "%s" lead "%s"\n' "$worker" "$job" >"$job/job.sh"
    job_id=$(sbatch --parsable --no-requeue --open-mode=append -o "$job/job.log" "${@:2}" "$job/job.sh")
}

job_is_over() {
    [[ $(squeue -h -j "$job_id" -t all -o %T) =~ ^(|COMPLETED|FAILED|CANCELLED|PREEMPTED|TIMEOUT)$ ]]
}

await_ready() {
    local rank
    for rank in $(seq 0 $(($1 - 1))); do
        await grep -q ready "$home/run-1/log/rank-$rank.log"
    done
}

# The first node alone saves: all of them would write the same file.
saving='trap "sleep 0.2; [ $NODE_RANK != 0 ] || echo 1 >$PHASED_OUT/ckpt_3; exit 0" TERM; echo ready; while :; do sleep 0.05; done'

@test "a job on two nodes with pretend GPUs trains and succeeds" {
    start_daemon
    new_run 1 "{\"resources\": {\"nodes\": 2, \"gpus\": 2}, \"run\": $(script 'echo "gpus $CUDA_VISIBLE_DEVICES"; echo step=1 loss=0.5')}"
    submit 1 -N 2 --gres=gpu:h100:2 -t 5
    await job_is_over
    [ "$(outcome 1 '[.outcome, .job_id]')" = "[\"succeeded\",$job_id]" ]
    [ "$(cut -d' ' -f2- "$home"/run-1/log/rank-*.log | grep -c 'gpus 0,1')" = 4 ]
    [ "$(record 1 lead 'select(.type == "started") | (.end_time - .time) > 200')" = true ]
    [ "$(squeue -h -j "$job_id" -t all -o %T)" = COMPLETED ]
}

@test "a preempted job saves within the grace, says so, and makes room at once" {
    new_run 1 "{\"resources\": {\"nodes\": 4, \"gpus\": 8}, \"launch\": \"node\",
        \"checkpoint\": {\"path\": \"\$PHASED_OUT/ckpt_{step}\", \"save_time_s\": 10}, \"run\": $(script "$saving")}"
    submit 1 -p preempt -N 4 --gres=gpu:h100:8 -t 5
    await_ready 4
    other_id=$(sbatch --parsable -p prod -N 1 --gres=gpu:h100:8 -o /dev/null --wrap 'sleep 100')
    await has_outcome 1
    [ "$(outcome 1 '[.outcome, .message]')" = '["preempted","preempted by Slurm"]' ]
    [ "$(outcome 1 '.finals | keys | length')" = 4 ]
    [ "$(journal 1 "$(squeue -h -j "$job_id" -t all -o %B)" 'select(.type == "checkpoint") | .step')" = 3 ]
}

@test "scancel is a cancellation" {
    new_run 1 "{\"checkpoint\": {\"path\": \"\$PHASED_OUT/ckpt_{step}\", \"save_time_s\": 10}, \"run\": $(script "$saving")}"
    submit 1 -t 5
    await_ready 1
    scancel "$job_id"
    await has_outcome 1
    [ "$(outcome 1 '[.outcome, .message]')" = '["cancelled","the job was cancelled in Slurm"]' ]
}

@test "the signal before the time limit ends the run as timed out" {
    new_run 1 "{\"checkpoint\": {\"path\": \"\$PHASED_OUT/ckpt_{step}\", \"save_time_s\": 10}, \"run\": $(script "$saving")}"
    submit 1 -t 1 --signal=B:USR2@55
    await_ready 1
    WAIT_S=60 await has_outcome 1
    [ "$(outcome 1 '[.outcome, .message]')" = '["timed_out","the time limit of the job is near"]' ]
    [ -e "$home/out/ckpt_3" ]
}

@test "an agent that is killed takes the job with it" {
    new_run 1 "{\"resources\": {\"nodes\": 2, \"gpus\": 1}, \"run\": $(script 'echo ready; sleep 1000')}"
    submit 1 -N 2 --gres=gpu:h100:1 -t 5
    await_ready 2
    kill -KILL "$(pgrep -f "^[^ ]*/phase-worker node $job\$" | tail -n 1)"
    await job_is_over
    [ "$(outcome 1 '[.outcome, .cause]')" = '["failed","node_fail"]' ]
    [ "$(squeue -h -j "$job_id" -t all -o %T)" = FAILED ]
}

@test "the next run begins in the same allocation, within a fraction of a second" {
    start_daemon
    local run
    for run in 1 2 3 4 5 6; do
        new_run $run '{"resources": {"nodes": 2, "gpus": 2}, "run": "echo step=1 loss=1"}' '{"linger_s": 20}'
        command_lead $run 1 "{\"verb\": \"next\", \"run_dir\": \"$home/run-$((run + 1))\", \"when\": \"ended\"}"
    done
    command_lead 6 1 '{"verb": "end", "when": "ended"}'
    submit 1 -N 2 --gres=gpu:h100:2 -t 5
    await has_outcome 6
    await job_is_over
    [ "$(outcome 6 .outcome)" = succeeded ]
    echo "# last exit to first exec: $(jq -sc 'sort_by(.run) | [range(1; 6) as $i | .[$i].started - .[$i - 1].ended] | sort' "$home"/run-?/outcome.json) s" >&3
}
