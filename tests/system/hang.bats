#!/usr/bin/env bats
# Runs that hang: how phased sees it, what it finds out about them, and that no process is left.
# The lead and its agents run with a stand-in for srun.

load worker/helpers

setup() {
    worker_setup
    hang='"hang_s": 2'
}

teardown() {
    worker_teardown
}

# python TEXT: a script that runs TEXT, which has no single quotes, by python3. It prints until python3
# has started: on a busy machine that takes longer than hang_s.
python() {
    script "(until [ -e \$PHASED_OUT/started ]; do echo starting; sleep 0.2; done &)
exec python3 -c 'import ctypes, os, signal, sys, time
open(os.environ[\"PHASED_OUT\"] + \"/started\", \"w\").close()
$1'"
}

# evidence RUN NODE FILTER: the evidence in the node's journal.
evidence() {
    journal "$1" "$2" "select(.type == \"evidence\") | $3"
}

@test "a program that stops writing is stopped, with evidence of what it was doing" {
    hang='"hang_s": 4' # a loaded machine may need 3 s to start bash
    start_daemon
    new_run 1 "{$hang, \"run\": $(script 'for i in {1..8}; do echo "step=$i loss=1"; done; exec sleep 1000')}"
    start_lead 1
    await_lead 1
    [ "$(outcome 1 '[.outcome, .cause, .last_step]')" = '["failed","hang",8]' ]
    [[ $(outcome 1 .message) == "no output, metric or checkpoint for "*" s (limit 4 s): on n1 sleep of rank 0 (pid "*") sleeps"* ]]
    [ "$(outcome 1 '.evidence | [.limit_s, .silent_s >= 4, (.nodes | keys)]')" = '[4,true,["n1"]]' ]
    [ "$(journal 1 lead 'select(.type == "stopping") | .why')" = hang ]
    [ "$(evidence 1 n1 '.processes[] | select(.name == "sleep") | [.rank, .command, .state, .call]')" = \
        '[0,"sleep 1000","S","clock_nanosleep"]' ]
    await eval '[ "$(record 1 n1 "select(.type == \"evidence\") | .summary")" = "$(outcome 1 .evidence.nodes.n1)" ]'
}

@test "the evidence distinguishes a program that spins from a program that sleeps" {
    new_run 1 "{$hang, \"run\": $(script 'while :; do :; done')}"
    start_lead 1
    await_lead 1
    [[ $(outcome 1 '[.cause, .message] | join(" ")') == "hang "*" of rank 0 (pid "*") spins"* ]]
    [ "$(evidence 1 n1 '[.processes[] | select(.state == "R" and .cpu > 0) | .rank]')" = '[0]' ]
}

@test "a process that is stuck in the kernel is named, and is gone at the end" {
    # The process waits uninterruptibly for a child of vfork() that does not continue.
    new_run 1 "{$hang, \"run\": $(python 'c = ctypes.CDLL(None)
c.vfork()
c.pause()')}"
    start_lead 1
    await_lead 1
    [[ $(outcome 1 .evidence.nodes.n1) == "python3 of rank 0 (pid "*") waits uninterruptibly"*"1 are stuck" ]]
    [ "$(evidence 1 n1 '[.processes[] | select(.state == "D") | [.name, .command]]')" = '[["python3",null]]' ]
    await no_process_names "PHASED_RUN_DIR=$home/phase/1"
}

@test "a hanging program that ignores TERM is killed" {
    hang='"hang_s": 4' # a loaded machine may need 3 s to start bash
    new_run 1 "{$hang, \"run\": $(script 'trap "" TERM; echo up; while :; do sleep 1 || true; done')}"
    start_lead 1
    await_lead 1
    [ "$(outcome 1 '[.cause, .last_step]')" = '["hang",null]' ]
    [ "$(journal 1 n1 'select(.type == "exited") | [.ranks[].signal]')" = "[9]" ]
    await no_process_names "PHASED_RUN_DIR=$home/phase/1"
}

@test "a hanging program gets TERM before KILL, even if its stop signal is another signal" {
    hang='"hang_s": 4' # a loaded machine may need 3 s to start bash
    new_run 1 "{$hang, \"checkpoint\": {\"path\": \"\$PHASED_OUT/c_{step}\", \"stop_signal\": \"USR1\", \"save_time_s\": 5},
        \"run\": $(python 'signal.signal(signal.SIGUSR1, lambda *_: print("usr1"))
signal.signal(signal.SIGTERM, lambda *_: (print("term"), sys.exit(0)))
while True: time.sleep(100)')}"
    start_lead 1
    await_lead 1
    [ "$(outcome 1 .cause)" = hang ]
    [ "$(grep -o 'usr1\|term' "$home/phase/1/log/rank-0.log" | xargs)" = "usr1 term" ]
}

@test "evidence includes detached child processes, and they are gone at the end" {
    new_run 1 "{$hang, \"run\": $(script '(setsid bash -c "trap \"\" TERM HUP; (sleep 1000 & sleep 1001 & : >$PHASED_OUT/both; wait) & disown" \
            >/dev/null 2>&1 &)
        until [ -e $PHASED_OUT/both ]; do echo starting; sleep 0.2; done
        exec sleep 1002')}"
    start_lead 1
    await_lead 1
    [ "$(evidence 1 n1 '[.processes[] | select(.name == "sleep") | [.command, .rank]] | sort')" = \
        '[["sleep 1000",null],["sleep 1001",null],["sleep 1002",0]]' ]
    no_process_names "PHASED_RUN_DIR=$home/phase/1"
}

@test "a run hangs only when no node shows anything" {
    hang='"hang_s": 10' # a loaded machine may need several seconds to start the programs of all nodes
    new_run 1 "{$hang, \"resources\": {\"nodes\": 3, \"gpus\": 1},
        \"run\": $(script 'echo up; for i in {1..75}; do sleep 0.2; [ "$RANK" != 1 ] || echo alive; done')}"
    start_lead 1 3
    await_lead
    [ "$(outcome 1 .outcome)" = succeeded ]
    new_run 2 "{$hang, \"resources\": {\"nodes\": 3, \"gpus\": 1}, \"run\": $(script '[ "$RANK" != 2 ] || exit 0; exec sleep 1000')}"
    start_lead 2 3
    await_lead 1
    [ "$(outcome 2 '[.cause, (.evidence.nodes | keys), .evidence.unanswered]')" = '["hang",["n1","n2"],[]]' ]
    [ "$(evidence 2 n2 '.processes[0].command')" = "sleep 1000" ]
}

@test "a run whose checkpoint grows does not hang, even if the file has another name meanwhile" {
    hang='"hang_s": 4' # a loaded machine may need 2 s to start the programs
    new_run 1 "{$hang, \"checkpoint\": {\"path\": \"\$PHASED_OUT/c_{step}/model.pt\"},
        \"run\": $(script 'echo step=1 loss=1; mkdir -p $PHASED_OUT/saving.tmp
        for i in {1..40}; do echo more >>$PHASED_OUT/saving.tmp/model.pt; sleep 0.2; done
        mv $PHASED_OUT/saving.tmp $PHASED_OUT/c_1')}"
    start_lead 1
    await_lead
    [ "$(outcome 1 .outcome)" = succeeded ]
    [ "$(journal 1 n1 'select(.type == "checkpoint") | .step')" = 1 ]
}

@test "processes that somebody has stopped do not hang" {
    new_run 1 "{$hang, \"run\": $(script 'echo $$ >$PHASED_OUT/pid
        until [ -e $PHASED_OUT/stopped ]; do echo waiting; sleep 0.1; done; echo went on')}"
    start_lead 1
    await test -s "$home/out/pid"
    kill -STOP "$(cat "$home/out/pid")"
    : >"$home/out/stopped"
    await grep -q 'stopped by a signal' "$home/phase/1/journal/n1.jsonl"
    sleep 3 # more than the limit
    kill -CONT "$(cat "$home/out/pid")"
    await_lead
    [ "$(outcome 1 .outcome)" = succeeded ]
    [ "$(journal 1 n1 'select(.type == "warning")' | wc -l)" = 1 ]
}

@test "silence is allowed where hang is off, and where there are no GPUs" {
    new_run 1 "{\"hang_s\": 0, \"run\": $(script 'sleep 3')}"
    start_lead 1
    await_lead
    new_run 2 "{\"hang_s\": null, \"resources\": {\"nodes\": 1, \"gpus\": 0}, \"run\": $(script 'sleep 3')}"
    start_lead 2
    await_lead
    [ "$(outcome 1 .outcome) $(outcome 2 .outcome)" = "succeeded succeeded" ]
}

@test "evidence includes NCCL's report where NCCL listens, and does not wait for it" {
    "$fakes/ras.py" "$home/port" >"$home/ras.log" 2>&1 3>&- &
    ras=$!
    await test -s "$home/port"
    new_run 1 "{$hang, \"env\": {\"NCCL_RAS_ADDR\": \"localhost:$(cat "$home/port")\"}, \"run\": $(script 'exec sleep 1000')}"
    start_lead 1
    await_lead 1
    wait "$ras"
    [ "$(evidence 1 n1 .nccl)" = "$(printf 'Job summary\n  Rank 3 has launched 7 of 8 operations\n')" ]
    [ "$(cat "$home/ras.log")" = "CLIENT PROTOCOL 2|TIMEOUT 3|VERBOSE STATUS" ]
    # The agent does not wait for a program that listens there and says nothing.
    "$fakes/ras.py" "$home/port2" silent >/dev/null 2>&1 3>&- &
    ras=$!
    await test -s "$home/port2"
    new_run 2 "{$hang, \"env\": {\"NCCL_RAS_ADDR\": \"127.0.0.1:$(cat "$home/port2")\"}, \"run\": $(script 'exec sleep 1000')}"
    start_lead 2
    await_lead 1
    kill "$ras"
    [ "$(evidence 2 n1 '[(.processes | length), .nccl]')" = '[1,null]' ]
}

# hang_as RUN PID: runs three ranks. Rank 1 does something else than the others, and NCCL names PID.
hang_as() {
    rm -f "$home/status"
    new_run "$1" "{$hang, \"resources\": {\"nodes\": 3, \"gpus\": 1}, \"env\": {\"NCCL_RAS_ADDR\": \"$address\"},
        \"run\": $(script "[ \"\$RANK\" = 1 ] || { until [ -e '$home/status' ]; do echo starting; sleep 0.2; done; exec sleep 1000; }
        sed s/PID/$2/ '$fakes/ras_status' >'$home/status.new' && mv '$home/status.new' '$home/status'
        while :; do :; done")}"
    start_lead "$1" 3
    await_lead 1
}

@test "the verdict says whether NCCL's report names the outlier, too" {
    "$fakes/ras.py" "$home/port" "$home/status" >/dev/null 2>&1 3>&- &
    ras=$!
    await test -s "$home/port"
    address="localhost:$(cat "$home/port")"
    hang_as 1 '$$'
    [[ $(outcome 1 .message) == *"unlike 2 others, "*" of rank 1 (pid "*") on n2 spins; NCCL's RAS names rank 1 as well" ]]
    hang_as 2 7
    kill "$ras"
    [[ $(outcome 2 .message) == *" of rank 1 (pid "*") on n2 spins; NCCL's RAS names rank 1 of 3 (pid 7 on 127.0.0.1)" ]]
    [[ $(evidence 2 n1 .nccl) == "NCCL version "*"process 7 on node 127.0.0.1"* ]]
}

@test "a trainer of a launcher is not named by a rank, because its node does not know the rank" {
    "$fakes/ras.py" "$home/port" "$home/status" >/dev/null 2>&1 3>&- &
    ras=$!
    await test -s "$home/port"
    new_run 1 "{$hang, \"launch\": \"node\", $two_by_two,
        \"env\": {\"NCCL_RAS_ADDR\": \"localhost:$(cat "$home/port")\"},
        \"run\": $(script "train() { [ \"\$1\" = 3 ] || exec sleep 1000
            sed s/PID/\$BASHPID/ '$fakes/ras_status' >'$home/status.new' && mv '$home/status.new' '$home/status'
            while :; do :; done; }
        for i in 0 1; do train \$((2 * NODE_RANK + i)) & done
        until [ -e '$home/status' ]; do echo starting; sleep 0.2; done; wait")}"
    start_lead 1 2
    await_lead 1
    kill "$ras"
    [[ $(outcome 1 .message) =~ "unlike "[2-9]" others, bash (pid "([0-9]+)") on n2 spins; NCCL's RAS names pid "([0-9]+)" as well"$ ]]
    [ "${BASH_REMATCH[1]}" = "${BASH_REMATCH[2]}" ]
    [[ $(outcome 1 .evidence.nodes.n2) != *rank* ]]
}

# tool NAME: makes a program on the PATH of the run from standard input.
tool() {
    mkdir -p "$home/bin"
    { echo '#!/bin/bash' && cat; } >"$home/bin/$1"
    chmod +x "$home/bin/$1"
}

@test "evidence uses py-spy and nvidia-smi where they exist, and does not wait for them" {
    tool py-spy <<'SH'
printf 'Process %s: python3 train.py --say a\nb --token hf_0123456789\n' "$4"
printf 'Python v3.12.3 (/usr/bin/python3.12)\n'
printf '\nThread 0x1 (idle): "Loader"\n    wait (threading.py:1)\n'
for i in {1..500}; do printf '\nThread 0x%x (idle)\n    wait (queue.py:1)\n' $i; done
printf '\nThread 0x2 (active): "MainThread"\n    all_reduce (train.py:7)\n'
SH
    tool nvidia-smi <<<'echo "GPU 0: busy"; exec sleep 1000'
    new_run 1 "{$hang, \"env\": {\"PATH\": \"$home/bin:$PATH\"},
        \"run\": $(python 'time.sleep(1000)')}"
    start_lead 1
    await_lead 1
    [ "$(outcome 1 .cause)" = hang ]
    [ "$(evidence 1 n1 '[(.python | length), .python[0].pid == .processes[0].pid]')" = '[1,true]' ]
    [ "$(evidence 1 n1 '.python[0].stacks' | sed -n '1,4p' | paste -sd'|')" = \
        'Python v3.12.3 (/usr/bin/python3.12)||Thread 0x2 (active): "MainThread"|    all_reduce (train.py:7)' ]
    [ "$(evidence 1 n1 '.python[0].stacks | length')" = 4096 ]
    [ "$(evidence 1 n1 .nvidia_smi)" = "GPU 0: busy" ]
    await no_process_names "$home/bin"
}

@test "evidence has no secret that is an argument, and no beginning of one" {
    printf '{"HF_TOKEN": ["hf_0123456789"]}' >"$home/secrets"
    new_run 1 "{$hang, \"run\": $(script '(exec -a "$(printf %154s x) $HF_TOKEN" sleep 1001) &
        until grep -qs hf_ /proc/$!/cmdline; do echo starting; sleep 0.2; done
        exec -a "train --token $HF_TOKEN" sleep 1000')}" \
        "{\"secrets\": \"$home/secrets\", \"environment\": {\"PATH\": \"$PATH\", \"HF_TOKEN\": \"(secret)\"}}"
    start_lead 1
    await_lead 1
    [ "$(evidence 1 n1 '.processes[].command' | sed 's/^  *//' | sort)" = $'train --token (secret) 1000\nx (secr' ]
}

@test "a node that is silent while others go on is named; if the others wait for it, the run hangs" {
    start_daemon
    new_run 1 "{\"hang_s\": 4, \"resources\": {\"nodes\": 2, \"gpus\": 1},
        \"run\": $(script 'for ((i = 1; ; i++)); do
            [ ! -e $PHASED_OUT/enough ] || exit 0
            ((RANK && i > 20)) || echo "step=$i loss=1"; sleep 0.1; done')}"
    start_lead 1 2
    await grep -q 'has shown nothing' "$home/phase/1/journal/lead.jsonl"
    touch "$home/out/enough"
    await_lead
    [ "$(outcome 1 .outcome)" = succeeded ]
    [[ $(record 1 lead 'select(.type == "warning") | .message') == "n2 has shown nothing for "*" s, while others go on" ]]
    # n2 stops, and the other nodes wait for it.
    new_run 2 "{$hang, \"resources\": {\"nodes\": 3, \"gpus\": 1},
        \"run\": $(script 'for i in {1..8}; do echo "step=$i loss=1"; sleep 0.1; done
        touch $PHASED_OUT/made.$RANK # all nodes fall silent at the same time
        until [ -e $PHASED_OUT/made.0 ] && [ -e $PHASED_OUT/made.1 ] && [ -e $PHASED_OUT/made.2 ]; do
            echo waiting; sleep 0.1; done
        [ "$RANK" = 1 ] || exec sleep 1000; while :; do :; done')}"
    start_lead 2 3
    await_lead 1
    [ "$(outcome 2 '[.cause, .evidence.unanswered]')" = '["hang",[]]' ]
    [[ $(outcome 2 .message) == *"(limit 2 s): unlike 2 others, "*" of rank 1 (pid "*") on n2 spins" ]]
    [[ $(outcome 2 .evidence.nodes.n1) == "sleep of rank 0 "*" sleeps"* ]]
    [[ $(outcome 2 .evidence.nodes.n2) == *" of rank 1 "*" spins"* ]]
    [ "$(journal 2 lead 'select(.type == "warning")')" = "" ]
}

@test "a group that is silent while others go on is named, and hangs when the others have ended" {
    new_run 1 "{$hang, \"resources\": {\"nodes\": 1, \"gpus\": 2}, \"launch\": \"group\",
        \"parallel\": {\"tensor\": 1, \"pipeline\": 1, \"data\": 2},
        \"run\": $(script 'echo up; [ "$DP_RANK" = 0 ] || exec sleep 1000
        until [ -e $PHASED_OUT/enough ]; do sleep 0.1; echo on; done')}"
    start_lead 1
    await grep -q 'has printed nothing' "$home/phase/1/journal/n1.jsonl"
    touch "$home/out/enough"
    await_lead 1
    [[ $(journal 1 n1 'select(.type == "warning") | .message') == "group 1 has printed nothing for "*" s, while others go on" ]]
    [[ $(outcome 1 '[.cause, .message] | join(" ")') == "hang "*"sleep of group 1 (pid "*") sleeps"* ]]
    [ "$(evidence 1 n1 '.processes[] | select(.name == "sleep") | [.rank, .group]')" = '[null,1]' ]
}

@test "a node whose steps come slowly is a straggler" {
    start_daemon
    new_run 1 "{\"resources\": {\"nodes\": 3, \"gpus\": 1},
        \"run\": $(script 'pause=(0.4 1.5 0.4)
        for ((i = 1; ; i++)); do
            [ ! -e $PHASED_OUT/enough ] || exit 0
            echo "step=$i loss=1"; sleep ${pause[$RANK]}; done')}"
    start_lead 1 3
    WAIT_S=120 await grep -q straggler "$home/phase/1/journal/lead.jsonl"
    touch "$home/out/enough"
    await_lead
    [ "$(record 1 lead 'select(.type == "warning") | .message' | wc -l)" = 1 ]
    [[ $(record 1 lead 'select(.type == "warning") | .message') == "n2 is a straggler: "*" steps/s, 0."*" of what n"[13]" makes "* ]]
    # Metrics are read only from the first node.
    [ "$(journal 1 n2 'select(.type == "metric")')$(journal 1 n3 'select(.type == "metric")')" = "" ]
}
