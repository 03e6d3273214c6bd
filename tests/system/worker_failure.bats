#!/usr/bin/env bats
# Why a run failed, where no line of a program says it: the kernel's OOM killer, Slurm's message
# about a lost job step, and ranks that say more than the rank that failed first. Also how a run that
# ended too early is told. Without Slurm.

load worker/helpers

setup() {
    worker_setup
    catalogue=$("$(dirname "$worker")/phasectl" failures --file "$home/none" --json | gojq -c '{failures: .}')
}

teardown() {
    worker_teardown
    [ -z "${group:-}" ] || rmdir "$group" 2>/dev/null || true
}

# Makes a cgroup with 150 MB of memory, or skips the test where that is not possible.
small_group() {
    local of limit
    of=$(sed -nE 's/^[0-9]+:([a-z,]*,)?memory(,[a-z,]*)?:(.*)$/\3/p' /proc/self/cgroup)
    if [ -n "$of" ]; then
        group=/sys/fs/cgroup/memory$of/phased-test-$$ limit=memory.limit_in_bytes
    else
        group=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)/phased-test-$$ limit=memory.max
    fi
    mkdir "$group" 2>/dev/null || { group= && skip 'no cgroup can be made here'; }
    { echo 150000000 >"$group/$limit"; } 2>/dev/null || skip 'the memory of a cgroup cannot be limited here'
}

@test "a rank that the kernel's OOM killer ended has the cause oom, even if it printed nothing" {
    small_group
    new_run 1 "{\"run\": $(script 'exec python3 -c "x = bytearray(2 ** 30)"')}" "$catalogue"
    # Like in Slurm, the lead and all that it starts are in the job's cgroup.
    mkdir "$home/bin"
    printf '#!/bin/bash\necho $$ >"%s/cgroup.procs"\nexec "%s/srun" "$@"\n' "$group" "$fakes" >"$home/bin/srun"
    chmod +x "$home/bin/srun"
    lead_path=$home/bin:$PATH start_lead 1
    await_lead 1
    [ "$(outcome 1 '[.cause, .signal, .failure.name, .failure.rank, .failure.node, .failure.blame]')" = \
        '["oom",9,"host_oom",0,"n1","code"]' ]
    [ "$(outcome 1 .message)" = \
        "out of host memory on rank 0 (n1): was killed by signal 9 (Killed): a process was killed by the kernel's OOM killer" ]
}

@test "a rank that somebody else killed does not have the cause oom" {
    new_run 1 "{\"run\": $(script 'kill -KILL $$')}" "$catalogue"
    start_lead 1
    await_lead 1
    [ "$(outcome 1 '[.cause, .failure.name, .failure.line]')" = '["exit","killed","was killed by signal 9 (Killed)"]' ]
}

@test "a job step that Slurm killed for its memory has the cause oom, and no node is blamed" {
    new_run 1 '{"run": "true"}' "$catalogue"
    export FAKE_SRUN_ERROR='n1: task 0: Out Of Memory'
    start_lead 1
    await_lead 1
    [ "$(outcome 1 '[.cause, .failure.name, .node]')" = '["oom","host_oom",null]' ]
    export FAKE_SRUN_ERROR='n1: task 0: Aborted'
    new_run 2 '{"run": "true"}' "$catalogue"
    start_lead 2
    await_lead 1
    [ "$(outcome 2 '[.failure, .node]')" = '[null,"n1"]' ]
    export FAKE_SRUN_ERROR='n1: task 0: Killed' # by whom nobody says
    new_run 3 '{"run": "true"}' "$catalogue"
    start_lead 3
    await_lead 1
    [ "$(outcome 3 '[.failure, .node]')" = '[null,null]' ]
}

@test "the cause comes from the rank that prints it, not from the first failure or from output at the stop" {
    new_run 1 "{\"resources\": {\"nodes\": 2, \"gpus\": 2}, \"run\": $(script '
        trap "echo ValueError: told to stop; exit 1" TERM
        case $RANK in
        0) until [ -e "$PHASED_OUT/printed" ]; do sleep 0.2; done
           echo "ncclRemoteError: remote process exited or there was a network error"; exit 1 ;;
        3) echo "RuntimeError: CUDA error: uncorrectable ECC error encountered"; sleep 0.2; touch "$PHASED_OUT/printed" ;;
        esac
        while :; do sleep 0.1; done')}" "$catalogue"
    start_lead 1 2
    await_lead 1
    [ "$(outcome 1 '[.cause, .failure.name, .failure.rank, .failure.node, .node]')" = '["node_fail","gpu_ecc",3,"n2","n2"]' ]
    [ "$(outcome 1 .exit_code)" = 1 ]
}

@test "a full disk costs lines of the log, but the failure is still recognised" {
    mkdir -p "$home/phase/1/log"
    new_run 1 "{\"run\": $(script 'echo OSError: [Errno 28] No space left on device; exit 1')}" "$catalogue"
    ln -s /dev/full "$home/phase/1/log/rank-0.log"
    start_lead 1
    await_lead 1
    [ "$(outcome 1 '[.cause, .failure.name]')" = '["exit","no_space"]' ]
}

@test "a run that was stopped from outside has no failure, whatever its ranks printed" {
    new_run 1 "{\"run\": $(script 'trap "exit 1" TERM; echo CUDA out of memory; echo step=1 loss=1; while :; do sleep 0.1; done')}" \
        "$catalogue"
    start_daemon
    start_lead 1
    await grep -q 'step=1' "$home/phase/1/log/rank-0.log"
    command_lead 1 1 '{"verb": "stop", "why": "cancelled"}'
    await_lead 1
    [ "$(outcome 1 '[.outcome, .cause, .failure]')" = '["cancelled",null,null]' ]
}

@test "a run that ends by itself long before its last step gives a warning" {
    local early='"run": "echo step=30 loss=1", "progress": {"step": "step", "total": 200}'
    new_run 1 "{$early}"
    new_run 2 '{"run": "echo step=30 loss=1", "progress": {"step": "step", "total": 31}}'
    new_run 3 "{$early, \"until\": {\"condition\": \"step >= 100\"}}"
    for run in 1 2 3; do
        start_lead $run
        await_lead
    done
    [ "$(journal 1 lead 'select(.type == "warning") | .message')" = \
        "the run ended by itself at step 30 of 200" ]
    [ "$(journal 2 lead 'select(.type == "warning")')$(journal 3 lead 'select(.type == "warning")')" = "" ]
}
