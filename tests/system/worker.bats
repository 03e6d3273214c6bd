#!/usr/bin/env bats
# phase-worker without Slurm: the lead and its agents run with a stand-in for srun, and with a
# stand-in for the daemon that checks the code of every message.

load worker/helpers

setup() {
    worker_setup
}

teardown() {
    worker_teardown
}

@test "two nodes with two ranks each train and succeed, and every entry reaches the daemon" {
    start_daemon
    new_run 1 "{$two_by_two, \"run\": $(script 'for i in 1 2 3; do echo "step=$i loss=0.$i"; done')}" '{"linger_s": 600}'
    command_lead 1 1 '{"verb": "end", "when": "complete"}'
    start_lead 1 2
    await_lead
    [ "$(outcome 1 '[.run, .job_id, .outcome, .cause, .exit_code, .last_step]')" = '[1,4711,"succeeded",null,0,3]' ]
    [ "$(outcome 1 '.started > 1.0e9 and .ended >= .started')" = true ]
    [ "$(record 1 lead .type | xargs)" = "started ended" ]
    [ "$(record 1 lead 'select(.type == "started") | .nodes')" = '["n1","n2"]' ]
    [ "$(record 1 n1 'select(.type == "metric") | [.step, .values.loss]' | xargs)" = "[1,0.1] [2,0.2] [3,0.3]" ]
    [ "$(record 1 n2 'select(.type == "ranks") | [.ranks[].rank]')" = "[2,3]" ]
    for node in n1 n2; do
        [ "$(outcome 1 ".finals.$node")" = "$(record 1 $node .seq | tail -n 1)" ]
        [ "$(record 1 $node .type | tail -n 1)" = exited ]
        cmp <(record 1 $node .) <(journal 1 $node .)
    done
    [ ! -e "$home/refused" ]
}

@test "ranks know their place, params, folders and captured environment" {
    new_run 1 "{$two_by_two, \"params\": {\"lr\": 0.001, \"depth\": 12, \"name\": \"big model\"},
        \"env\": {\"DATA\": \"\$PHASED_OUT/data\", \"HOST\": \"\$HOSTNAME\"}, \"workdir\": \"\$PHASED_OUT\",
        \"run\": $(script 'printf "%s|" "$RANK" "$LOCAL_RANK" "$WORLD_SIZE" "$LOCAL_WORLD_SIZE" "$NODE_RANK" "$NNODES" \
            "$lr" "$depth" "$name" "$DATA" "$HOST" "$PHASED_ADDRESS" "$PHASED_PHASE" "$PHASED_IN_prepare" \
            "$PHASED_CHECKPOINT_prepare" "$PHASED_RESUME" "$PHASED_RESUME_STEP" "$GREETING" "$PWD" "$SLURM_PROCID"
            echo; echo "$MASTER_ADDR:$MASTER_PORT"; echo "$PHASED_PARAMS"')}" \
        '{"inputs": {"prepare": {"out": "/in", "checkpoint": "/in/c.pt"}}, "resume": {"path": "/ckpt_7", "step": 7}}'
    start_lead 1 2
    await_lead
    [ "$(cut -d' ' -f2- "$home/phase/1/log/rank-3.log" | sed -n 1p)" = \
        "3|1|4|2|1|2|0.001|12|big model|$home/out/data|\$HOSTNAME|7/train#1|train|/in|/in/c.pt|/ckpt_7|7|hello|$home/out|3|" ]
    # All ranks meet at one place.
    [ "$(sed -n 2p "$home"/phase/1/log/rank-?.log | cut -d' ' -f2- | sort -u | wc -l)" = 1 ]
    [ "$(sed -n 3p "$home/phase/1/log/rank-0.log" | cut -d' ' -f2-)" = '{"depth": 12, "lr": 0.001, "name": "big model"}' ]
}

@test "launch: node starts one process on each node, ready for torchrun" {
    # The phase was submitted from within a process of another launcher.
    new_run 1 '{"resources": {"nodes": 2, "gpus": 8}, "launch": "node",
        "run": "echo \"${RANK-none} ${LOCAL_RANK-none}${TORCHELASTIC_RUN_ID-} $WORLD_SIZE $LOCAL_WORLD_SIZE $NODE_RANK\""}' \
        "{\"environment\": {\"PATH\": \"$PATH\", \"RANK\": \"3\", \"LOCAL_RANK\": \"3\", \"TORCHELASTIC_RUN_ID\": \"none\"}}"
    start_lead 1 2
    await_lead
    [ "$(cut -d' ' -f2- "$home"/phase/1/log/rank-*.log | xargs -d '\n' printf '%s;')" = "none none 16 8 0;none none 16 8 1;" ]
}

@test "after a requeue the ranks use the meeting point of the restarted job, not of an earlier start" {
    new_run 1 "{$two_by_two, \"run\": \"echo meet=\$MASTER_ADDR:\$MASTER_PORT\"}"
    echo '{"address": "192.0.2.7", "port": 7}' >"$home/phase/1/rendezvous-0.json"
    SLURM_RESTART_COUNT=1 start_lead 1 2
    await_lead
    [ "$(outcome 1 .outcome)" = succeeded ]
    [ "$(sed 's/.*meet=//' "$home"/phase/1/log/rank-[0-3].log | sort -u)" = \
        "$(gojq -r '"\(.address):\(.port)"' "$home/phase/1/rendezvous-1.json")" ]
}

@test "a rank that exits with 3 fails the run, and the other ranks are stopped" {
    new_run 1 "{$two_by_two, \"run\": $(script 'if [ "$RANK" = 3 ]; then exit 3; fi; sleep 100')}"
    start_lead 1 2
    await_lead 1
    [ "$(outcome 1 '[.outcome, .cause, .exit_code, .signal, .message]')" = \
        '["failed","exit",3,0,"rank 3 on n2 exited with code 3"]' ]
    [ "$(journal 1 lead 'select(.type == "stopping") | .why')" = exit ]
    [ "$(journal 1 n1 'select(.type == "exited") | [.ranks[].signal]')" = "[15,15]" ]
}

@test "the message of a failed run shows what the rank printed last" {
    new_run 1 "{\"launch\": \"node\", \"run\": $(script 'echo step=1 loss=1; printf "\033[31mphase-model: RANK is missing\033[0m\n\n  \n" >&2; exit 1')}"
    start_lead 1
    await_lead 1
    [ "$(outcome 1 .message)" = 'the command on n1 exited with code 1: phase-model: RANK is missing' ]
    [ "$(journal 1 lead 'select(.type == "stopping") | .message')" = "$(outcome 1 .message)" ]
    new_run 2 "{$two_by_two, \"run\": $(script 'if [ "$RANK" = 2 ]; then printf "%0200d\303\244 \377" 7; exit 5; fi; echo other; sleep 100')}"
    start_lead 2 2
    await_lead 1
    [ "$(outcome 2 .message)" = "rank 2 on n2 exited with code 5: $(printf '%0150d' 0)" ]
    new_run 3 "{\"run\": $(script 'for i in {1..74}; do printf "\303\244"; done; printf "a\303\244\303\244"; kill -SEGV $$')}"
    start_lead 3
    await_lead 1
    [[ $(outcome 3 .message) == *"was killed by signal 11 (Segmentation fault): ää"*äa ]]
}

@test "a rank that is killed fails the run with its signal" {
    new_run 1 "{$two_by_two, \"run\": $(script 'if [ "$RANK" = 1 ]; then kill -KILL $$; fi; sleep 100')}"
    start_lead 1 2
    await_lead 1
    [ "$(outcome 1 '[.outcome, .cause, .exit_code, .signal, .message]')" = \
        '["failed","exit",0,9,"rank 1 on n1 was killed by signal 9 (Killed)"]' ]
}

@test "a program that prints nothing succeeds" {
    new_run 1 '{"run": "true"}'
    start_lead 1
    await_lead
    [ "$(outcome 1 '[.outcome, .last_step]')" = '["succeeded",null]' ]
}

@test "a missing workdir or input is blamed on the spec, not on a node" {
    new_run 1 '{"run": "true", "workdir": "/nowhere"}'
    start_lead 1
    await_lead 1
    [ "$(outcome 1 '[.outcome, .cause, .node, .message]')" = \
        '["failed","exit",null,"n1: workdir: cannot enter /nowhere: No such file or directory"]' ]
    local group='"launch": "group", "parallel": {"tensor": 1, "pipeline": 1, "data": 1}'
    new_run 2 "{\"run\": \"true\", $group, \"shard\": {\"input\": \"/tmp\", \"by\": \"lines\"}}"
    start_lead 2
    await_lead 1
    [ "$(outcome 2 '[.outcome, .cause, .node, .message]')" = \
        '["failed","exit",null,"n1: shard.input: /tmp: Is a directory"]' ]
}

@test "a script that fails to parse is explained" {
    new_run 1 '{"run": "if"}'
    start_lead 1
    await_lead 1
    [ "$(outcome 1 '[.outcome, .cause, .exit_code]')" = '["failed","exit",2]' ]
    grep -q 'syntax error' "$home/phase/1/log/rank-0.log"
}

@test "a run that succeeds without a checkpoint, although the spec has a path for it, gives a warning" {
    new_run 1 '{"run": "touch $PHASED_OUT/model.7.pt",
        "checkpoint": {"path": "$PHASED_OUT/model_{step}.pt", "stop_signal": "TERM", "save_time_s": 5, "keep": 0}}'
    start_lead 1
    await_lead
    [[ $(journal 1 lead 'select(.type == "warning") | .message') == \
        "the run has succeeded and left no checkpoint: no file is called "*"/model_{step}.pt" ]]
    new_run 2 '{"run": "touch $PHASED_OUT/model_7.pt",
        "checkpoint": {"path": "$PHASED_OUT/model_{step}.pt", "stop_signal": "TERM", "save_time_s": 5, "keep": 0}}'
    start_lead 2
    await_lead
    [ "$(journal 2 lead 'select(.type == "warning") | .message')" = "" ]
}

@test "100 MB of output fill neither the memory nor the disk, and no metric is lost" {
    new_run 1 "{\"run\": $(script 'line=$(printf "x%.0s" {1..1000})
        for block in {1..100}; do echo "step=$block loss=$block.5"; head -n 1000 < <(yes "$line"); done')}"
    start_lead 1
    WAIT_S=600 await_lead
    [ "$(journal 1 n1 'select(.type == "metric") | .values.loss' | wc -l)" = 100 ]
    [ "$(journal 1 n1 'select(.type == "metric") | .values.loss' | tail -n 1)" = 100.5 ]
    [ "$(du -sb "$home/phase/1/log" | cut -f1)" -lt 110000000 ]
    grep -q 'step=1 loss=1.5' "$home/phase/1/log/rank-0.first.log"
    grep -q 'step=100 loss=100.5' "$home/phase/1/log/rank-0.log"
}

@test "a NaN in a loss stops the run, unless the phase allows NaN" {
    new_run 1 "{\"run\": $(script 'echo step=1 loss=2; echo step=2 loss=nan; sleep 1000')}"
    start_lead 1
    await_lead 1
    [ "$(outcome 1 '[.outcome, .cause, .message]')" = '["failed","nan","loss is nan at step 2"]' ]
    new_run 2 "{\"nan_ok\": true, \"run\": $(script 'echo step=2 loss=nan')}"
    start_lead 2
    await_lead
    [ "$(journal 2 n1 'select(.type == "metric") | .values.loss')" = nan ]
    new_run 3 "{\"run\": $(script 'echo step=8 train_loss=2; echo step=9 train_loss=inf')}"
    start_lead 3
    await_lead 1
    [ "$(outcome 3 '[.outcome, .cause]')" = '["failed","nan"]' ]
    # A reader that has only the journal, because the lead is dead, sees that the run did not
    # succeed.
    [ "$(journal 3 n1 'select(.type == "suspect" or .type == "exited") | [.type, .done]' | xargs)" = "[suspect,null] [exited,false]" ]
}

@test "a guard that fails stops the run with its verdict, and a warning is only recorded" {
    new_run 1 "{\"guards\": {\"cap\": {\"value\": \"max(grad_norm)\", \"at_most\": 20},
            \"slow\": {\"value\": \"last(grad_norm)\", \"at_most\": 10, \"else\": \"warn\"}},
        \"run\": $(script 'echo step=1 loss=1 grad_norm=5; echo step=2 loss=1 grad_norm=15
            until grep -qs slow $PHASED_RUN_DIR/journal/n1.jsonl; do sleep 0.1; done; echo step=3 loss=1 grad_norm=25; sleep 1000')}"
    start_lead 1
    await_lead 1
    [ "$(outcome 1 '[.outcome, .cause, .guard.name, .guard.outcome, .guard.value]')" = '["failed","guard","cap","failed",25]' ]
    [ "$(journal 1 n1 'select(.type == "guard") | [.verdict.name, .verdict.warn]' | xargs)" = "[slow,true] [cap,false]" ]
}

@test "a guard on a metric that never came gives a warning" {
    new_run 1 "{\"guards\": {\"cap\": {\"value\": \"max(grad_nrm)\", \"at_most\": 20}}, \"run\": $(script 'echo step=1 loss=1 grad_norm=5')}"
    start_lead 1
    await_lead
    [[ $(journal 1 n1 'select(.type == "warning") | .message') = 'from its start to its end the program printed no value of: grad_nrm; it printed values of: '* ]]
}

@test "a run that until stops succeeds after its checkpoint is written, whatever its exit code" {
    new_run 1 "{\"until\": {\"condition\": \"min(val_loss) <= 3\"},
        \"checkpoint\": {\"path\": \"\$PHASED_OUT/ckpt_{step}\", \"save_time_s\": 10},
        \"run\": $(script 'trap "sleep 0.5; echo 1 >$PHASED_OUT/ckpt_7; exit 3" TERM
            echo step=6 val_loss=3.5; sleep 0.5; echo step=7 val_loss=2.5; while :; do sleep 0.2 || true; done')}"
    start_lead 1
    await_lead
    [ "$(outcome 1 '[.outcome, .cause, .guard, .last_step, .requeues]')" = '["succeeded",null,null,7,false]' ]
    [ "$(outcome 1 .message)" = "until holds: 2.5 <= 3 (steps 6..7)" ]
    [ "$(journal 1 n1 'select(.type == "checkpoint") | .step')" = 7 ]
    [ "$(journal 1 n1 'select(.type == "guard") | [.verdict.name, .verdict.outcome]')" = '["until","passed"]' ]
    [ "$(journal 1 lead 'select(.type == "stopping") | .why')" = until ]
}

@test "a run that until has stopped still needs its outputs" {
    new_run 1 "{\"until\": {\"condition\": \"last(loss) < 3\"}, \"outputs\": [\"data\"],
        \"run\": $(script 'echo step=1 loss=2; sleep 1000')}"
    start_lead 1
    await_lead 1
    [ "$(outcome 1 '[.outcome, .cause]')" = '["failed","exit"]' ]
    [[ "$(outcome 1 .message)" = "outputs: no data in "* ]]
}

@test "metrics come from a file of JSON lines, and from scripts" {
    echo '{"step": 1, "loss": 99}' >"$home/out/metrics.jsonl"
    new_run 1 "{\"metrics\": {\"kind\": \"file\", \"path\": \"\$PHASED_OUT/metrics.jsonl\"},
        \"run\": $(script 'echo "step=5 loss=3"; echo "{\"step\": 2, \"loss\": 4.5}" >>$PHASED_OUT/metrics.jsonl
            phase-worker metric step=3 val_loss=2.5 other=nan')}"
    start_lead 1
    await_lead
    [ "$(journal 1 n1 'select(.type == "metric") | [.step, .values]' | sort | xargs -d '\n')" = \
        '[2,{"loss":4.5}] [3,{"other":"nan","val_loss":2.5}]' ]
}

@test "phase-worker metric refuses an argument that is not a metric" {
    run "$worker" metric loss
    [ "$status" = 2 ]
    run "$worker" metric loss=abc
    [ "$status" = 2 ]
    [[ $output == *"must be NAME=NUMBER: loss=abc"* ]]
    run env -u PHASED_CHANNEL "$worker" metric loss=1
    [ "$status" = 1 ]
}

@test "a checkpoint is found when it is whole, and an announced checkpoint at once" {
    new_run 1 "{\"checkpoint\": {\"path\": \"\$PHASED_OUT/model_{step}*\"},
        \"run\": $(script 'touch $PHASED_OUT/half.tmp; echo abc >$PHASED_OUT/model_000010.pt; echo de >$PHASED_OUT/model_000010_rank1.pt
            echo x >$PHASED_OUT/model_000020.pt.tmp
            mkdir $PHASED_OUT/mine; echo 12345 >$PHASED_OUT/mine/file; phase-worker checkpoint $PHASED_OUT/mine --step 15')}"
    echo old >"$home/out/model_000005.pt"
    start_lead 1
    await_lead
    [ "$(journal 1 n1 'select(.type == "checkpoint") | [.step, .bytes, .path]' | sed "s|$home||" | xargs)" = \
        "[15,6,/out/mine] [10,7,/out/model_000010.pt]" ]
}

@test "keep removes only checkpoints of this run, and the newest two stay" {
    echo old >"$home/out/ckpt_1"
    new_run 1 "{\"checkpoint\": {\"path\": \"\$PHASED_OUT/ckpt_{step}\", \"keep\": 2},
        \"run\": $(script 'for i in 2 3 4 5; do echo $i >$PHASED_OUT/ckpt_$i; done')}"
    start_lead 1
    await_lead
    [ "$(ls "$home/out" | xargs)" = "ckpt_1 ckpt_4 ckpt_5" ]
}

@test "processes that a rank leaves behind are killed, even in another session" {
    new_run 1 "{\"run\": $(script 'setsid sleep 1000 >/dev/null 2>&1 & (setsid sh -c "trap : TERM; while :; do sleep 1; done" >/dev/null 2>&1 &) ; echo $PHASED_RUN_DIR')}"
    start_lead 1
    await_lead
    [ "$(outcome 1 .outcome)" = succeeded ]
    no_process_names "PHASED_RUN_DIR=$home"
}

@test "a program that writes what a rank has printed ends by itself, even if its disk is slow" {
    new_run 1 "{\"run\": $(script 'exec > >(mapfile lines; sleep 2; printf %s "${lines[@]}" >"$PHASED_OUT/copy"); seq 100')}"
    start_lead 1
    await_lead
    seq 100 | cmp - "$home/out/copy"
}

@test "a stop command lets the program save, and the run ends as cancelled" {
    start_daemon
    new_run 1 "{\"checkpoint\": {\"path\": \"\$PHASED_OUT/ckpt_{step}\", \"save_time_s\": 10},
        \"run\": $(script 'trap "echo 1 >$PHASED_OUT/ckpt_7; exit 0" TERM; echo ready; while :; do sleep 0.2 || true; done')}"
    start_lead 1
    await grep -q ready "$home/phase/1/log/rank-0.log"
    command_lead 1 1 '{"verb": "stop", "why": "cancelled"}'
    await_lead 1
    [ "$(outcome 1 '[.outcome, .message]')" = '["cancelled","stopped: cancelled"]' ]
    [ "$(journal 1 n1 'select(.type == "checkpoint") | .step')" = 7 ]
    [ "$(journal 1 lead .type | xargs)" = "started stopping ended" ]
}

@test "a program that does not stop is killed when its time for saving is over" {
    start_daemon
    new_run 1 "{\"checkpoint\": {\"path\": \"\$PHASED_OUT/ckpt_{step}\", \"save_time_s\": 1},
        \"run\": $(script 'trap "" TERM; echo ready; sleep 1000')}"
    start_lead 1
    await grep -q ready "$home/phase/1/log/rank-0.log"
    command_lead 1 1 '{"verb": "stop", "why": "held"}'
    await_lead 1
    [ "$(outcome 1 .outcome)" = cancelled ]
    [ "$(journal 1 n1 'select(.type == "exited") | .ranks[0].signal')" = 9 ]
}

@test "a program with another stop signal ignores SIGTERM" {
    start_daemon
    new_run 1 "{\"checkpoint\": {\"path\": \"\$PHASED_OUT/ckpt_{step}\", \"stop_signal\": \"USR1\", \"save_time_s\": 10},
        \"run\": $(script 'trap "echo asked; exit 0" USR1; kill -TERM $$; echo ready; while :; do sleep 0.2 || true; done')}"
    start_lead 1
    await grep -q ready "$home/phase/1/log/rank-0.log"
    command_lead 1 1 '{"verb": "stop", "why": "cancelled"}'
    await_lead 1
    grep -q asked "$home/phase/1/log/rank-0.log"
}

@test "TERM to all processes of the job step is a preemption, not a failure" {
    for trapped in 'trap "sleep 0.3; echo 1 >$PHASED_OUT/ckpt_3; exit 0" TERM' ':'; do
        rm -rf "$home/phase" "$job/claim"
        new_run 1 "{$two_by_two, \"checkpoint\": {\"path\": \"\$PHASED_OUT/ckpt_{step}\", \"save_time_s\": 10},
            \"run\": $(script "$trapped; echo ready; while :; do sleep 0.2 || true; done")}"
        start_lead 1 2
        for rank in 0 1 2 3; do await grep -q ready "$home/phase/1/log/rank-$rank.log"; done
        terminate_step
        await_lead
        [ "$(outcome 1 '[.outcome, .cause, .requeues]')" = '["preempted",null,true]' ]
        [ "$(outcome 1 '.finals | keys')" = '["n1","n2"]' ]
    done
    [ -e "$home/out/ckpt_3" ]
}

@test "USR2 to the lead means that the time limit of the job is near" {
    new_run 1 "{$two_by_two, \"run\": $(script 'trap "exit 0" TERM; echo ready; while :; do sleep 0.2 || true; done')}"
    start_lead 1 2
    for rank in 0 1 2 3; do await grep -q ready "$home/phase/1/log/rank-$rank.log"; done
    kill -USR2 "$lead"
    await_lead 1
    [ "$(outcome 1 '[.outcome, .cause]')" = '["timed_out",null]' ]
    [ "$(journal 1 lead 'select(.type == "stopping") | .why')" = timed_out ]
}

@test "the lead ignores the signals that ask a program to save or to end with its terminal" {
    new_run 1 "{\"run\": $(script 'echo ready; until [ -e $PHASED_RUN_DIR/over ]; do sleep 0.1; done')}"
    start_lead 1
    await grep -qs ready "$home/phase/1/log/rank-0.log"
    kill -USR1 "$lead"
    kill -HUP "$lead"
    touch "$home/phase/1/over"
    await_lead
    [ "$(outcome 1 .outcome)" = succeeded ]
}

@test "the loss of an agent is a node failure, and the end of its journal is known" {
    new_run 1 "{$two_by_two, \"run\": $(script 'echo step=1 loss=1; echo ready; sleep 1000')}"
    start_lead 1 2
    for rank in 0 1 2 3; do await grep -q ready "$home/phase/1/log/rank-$rank.log"; done
    kill -KILL "$(pgrep -f "^[^ ]*/phase-worker node $job\$" | tail -n 1)"
    await_lead 1
    [ "$(outcome 1 '[.outcome, .cause]')" = '["failed","node_fail"]' ]
    [[ $(outcome 1 .message) == "the job step was lost: n"[12]": task "[01]": Killed" ]]
    [ "$(outcome 1 '[(.finals | keys), .started > 1.0e9]')" = '[["n1","n2"],true]' ]
}

@test "the loss of an agent ends the run, even if srun leaves the other agents alone" {
    export FAKE_SRUN_LEAVES_TASKS=1
    new_run 1 "{$two_by_two, \"run\": $(script 'echo step=1 loss=1; echo ready; [ "$NODE_RANK" = 1 ] || sleep 1000')}"
    start_lead 1 2
    for rank in 0 1 2 3; do await grep -q ready "$home/phase/1/log/rank-$rank.log"; done
    kill -KILL "$(pgrep -f "^[^ ]*/phase-worker node $job\$" | head -n 1)"
    await_lead 1
    [ "$(outcome 1 '[.outcome, .cause]')" = '["failed","node_fail"]' ]
    [[ $(outcome 1 .message) == "the job step was lost: n"[12]": task "[01]": Killed" ]]
}

@test "a killed agent leaves no program behind, even a silent program without an environment" {
    new_run 1 "{\"run\": $(script 'env -i "PATH=$PATH" setsid --wait bash -c "echo ready; while :; do sleep 0.05; done" "$PHASED_OUT/mute" >"$PHASED_OUT/log"')}"
    start_lead 1
    await grep -q ready "$home/out/log"
    kill -KILL "$(pgrep -f "^[^ ]*/phase-worker node $job\$")"
    await_lead 1
    no_process_names "$home/out/mute"
    [ "$(outcome 1 '[.cause, .message]')" = '["node_fail","the job step was lost: n1: task 0: Killed"]' ]
}

@test "agents whose lead is killed stop their ranks and leave" {
    new_run 1 "{$two_by_two, \"run\": $(script 'trap "touch $PHASED_OUT/saved-$RANK; exit 0" TERM; echo ready; while :; do sleep 0.2 || true; done')}"
    start_lead 1 2
    for rank in 0 1 2 3; do await grep -q ready "$home/phase/1/log/rank-$rank.log"; done
    kill -KILL "$lead"
    wait "$lead" || true
    await no_process_names "$job"
    await no_process_names "PHASED_RUN_DIR=$home"
    [ "$(ls "$home/out" | xargs)" = "saved-0 saved-1 saved-2 saved-3" ]
    [ "$(journal 1 n2 .type | tail -n 1)" = exited ]
}

@test "after a node could not read its run, the job goes on with the next run" {
    start_daemon
    export FAKE_SRUN_HIDES=$home/phase/1
    new_run 1 "{$two_by_two, \"run\": \"exec sleep 1000\"}" '{"linger_s": 60}'
    new_run 2 "{$two_by_two, \"run\": \"true\"}"
    start_lead 1 2
    await has_outcome 1
    [ "$(outcome 1 '[.outcome, .cause]')" = '["failed","launch"]' ]
    command_lead 1 1 "{\"verb\": \"next\", \"run_dir\": \"$home/phase/2\", \"when\": \"ended\"}"
    await_lead
    [ "$(outcome 2 .outcome)" = succeeded ]
}

@test "an srun that cannot start is a failed launch" {
    new_run 1 '{"run": "true"}'
    FAKE_SRUN_ERROR='Unable to create step for job 4711: Invalid generic resource' start_lead 1
    await_lead 1
    [ "$(outcome 1 '[.outcome, .cause, .message]')" = \
        '["failed","launch","the job step was lost: Unable to create step for job 4711: Invalid generic resource"]' ]
    new_run 2 '{"run": "true"}'
    lead_path=/nowhere start_lead 2
    await_lead 1
    [ "$(outcome 2 '[.outcome, .cause, .message]')" = '["failed","launch","cannot start srun: no such file or directory"]' ]
}

@test "training goes on while the daemon is away, and the daemon gets every entry when it is back" {
    new_run 1 "{\"run\": $(script 'for i in {1..50}; do echo "step=$i loss=$i"; done; touch $PHASED_OUT/done')}" '{"linger_s": 600}'
    start_lead 1
    await has_outcome 1
    [ ! -e "$home/record/1" ]
    start_daemon
    all_is_told() { cmp <(record 1 n1 .) <(journal 1 n1 .); }
    await all_is_told # before the agent ends, which waits a while only for a daemon
    command_lead 1 1 '{"verb": "end", "when": "ended"}'
    await_lead
    all_is_told
    cmp <(record 1 lead .) <(journal 1 lead .)
}

@test "the log of a run that has ended is whole while the lead still waits for the next run" {
    start_daemon
    new_run 1 "{\"run\": $(script 'printf "a\nlast words"')}" '{"linger_s": 30}'
    start_lead 1
    await has_outcome 1
    [ "$(cut -d' ' -f2- "$home/phase/1/log/rank-0.log" | xargs)" = "a last words" ]
    command_lead 1 1 '{"verb": "end", "when": "ended"}'
    await_lead
}

# gets_more: whether the daemon has got an entry of n1 since `seen` was counted.
gets_more() { [ "$(cat "$home/record/1/n1.jsonl" | wc -l)" -gt "$seen" ]; }

@test "a daemon that comes and goes gets every entry once, in order" {
    local seen=0
    start_daemon
    new_run 1 "{\"run\": $(script 'step=0; until [ -e "$PHASED_OUT/go" ]; do
        step=$((step + 1)); echo "step=$step loss=1"; sleep 0.05; done')}" '{"linger_s": 600}'
    command_lead 1 1 '{"verb": "end", "when": "complete"}'
    start_lead 1
    await gets_more
    for _ in 1 2; do
        stop_daemon
        seen=$(wc -l <"$home/record/1/n1.jsonl")
        start_daemon
        await gets_more
    done
    touch "$home/out/go"
    await_lead
    cmp <(record 1 n1 .) <(journal 1 n1 .)
    [ "$(record 1 n1 'select(.type == "metric") | .step' | tail -n 1)" = "$(outcome 1 .last_step)" ]
}

@test "a daemon with a wrong code is not obeyed" {
    start_daemon --wrong-code
    new_run 1 "{\"run\": $(script 'echo ready; sleep 1; echo step=1 loss=1')}" '{"linger_s": 1}'
    command_lead 1 1 '{"verb": "stop", "why": "cancelled"}'
    start_lead 1
    await_lead
    [ "$(outcome 1 .outcome)" = succeeded ]
    grep -q 'has a wrong code; the work goes on' "$job/job.log"
}

@test "the next run begins in the same allocation" {
    start_daemon
    new_run 1 "{$two_by_two, \"run\": $(script 'echo step=1 loss=1')}" '{"linger_s": 20}'
    new_run 2 "{$two_by_two, \"run\": $(script 'echo step=1 loss=2')}" '{"linger_s": 20}'
    command_lead 1 1 "{\"verb\": \"next\", \"run_dir\": \"$home/phase/2\", \"when\": \"ended\"}"
    command_lead 2 1 '{"verb": "end", "when": "ended"}'
    start_lead 1 2
    await_lead
    [ "$(outcome 2 .outcome)" = succeeded ]
    [ "$(gojq -r .run_dir "$job/current.json")" = "$home/phase/2" ]
    echo "# last exit to first exec: $(gojq -s '.[1].started - .[0].ended' "$home"/phase/[12]/outcome.json) s" >&3
}

@test "the lead waits for the folder of the next run, which may become visible late" {
    start_daemon
    new_run 1 '{"run": "true"}' '{"linger_s": 20}'
    new_run 2 '{"run": "true"}' '{"linger_s": 20}'
    mv "$home/phase/2" "$home/hidden"
    command_lead 1 1 "{\"verb\": \"next\", \"run_dir\": \"$home/phase/2\", \"when\": \"ended\"}"
    command_lead 2 1 '{"verb": "end", "when": "ended"}'
    start_lead 1
    await grep -q 'waiting for the next run: .*/phase/2/run.json' "$job/job.log"
    mv "$home/hidden" "$home/phase/2"
    await_lead
    [ "$(outcome 2 .outcome)" = succeeded ]
}

@test "the next run may need fewer nodes" {
    start_daemon
    new_run 1 "{$two_by_two, \"run\": \"true\"}" '{"linger_s": 20}'
    new_run 2 '{"resources": {"nodes": 1, "gpus": 2}, "launch": "node",
        "run": "echo tasks=$SLURM_NNODES,$SLURM_JOB_NUM_NODES,$SLURM_NTASKS,$SLURM_TASKS_PER_NODE"}' '{"linger_s": 20}'
    command_lead 1 1 "{\"verb\": \"next\", \"run_dir\": \"$home/phase/2\", \"when\": \"ended\"}"
    command_lead 2 1 '{"verb": "end", "when": "ended"}'
    start_lead 1 2
    await_lead
    [ "$(outcome 2 '[.outcome, (.finals | keys)]')" = '["succeeded",["n1"]]' ]
    grep -q 'tasks=1,1,1,1$' "$home/phase/2/log/rank-0.log" # though the job has two
}

@test "the lead does not keep an idle allocation: it leaves when no command comes" {
    new_run 1 '{"run": "true"}' '{"linger_s": 1}'
    start_lead 1
    await_lead
    no_process_names "$job"
}

@test "a run that has an outcome is not run again" {
    start_daemon
    new_run 1 '{"run": "touch $PHASED_OUT/ran"}'
    gojq -n '{run: 1, job_id: 4711, restarts: 0, outcome: "failed", cause: "exit", exit_code: 1, signal: 0, message: "",
        guard: null, started: 1.5, ended: 2.5, finals: {}, last_step: null, requeues: false}' >"$home/phase/1/outcome.json"
    command_lead 1 1 '{"verb": "end"}'
    start_lead 1
    await_lead 1
    [ ! -e "$home/out/ran" ]
    [ "$(outcome 1 .ended)" = 2.5 ]
}

# The daemon removes the secrets of a workflow that is over.
@test "a lead whose secrets are gone sees that its run is over, and starts no run without them" {
    start_daemon
    local gone="{\"secrets\": \"$home/secrets/7\", \"environment\": {\"HF_TOKEN\": \"(secret)\"}}"
    new_run 1 '{"run": "touch $PHASED_OUT/ran"}' "$gone"
    gojq -n '{run: 1, job_id: 4711, restarts: 0, outcome: "succeeded", cause: null, exit_code: 0, signal: 0, message: "",
        guard: null, started: 1.5, ended: 2.5, finals: {}, last_step: null, requeues: false}' >"$home/phase/1/outcome.json"
    command_lead 1 1 '{"verb": "end"}'
    start_lead 1
    await_lead
    [ "$(outcome 1 .ended)" = 2.5 ]
    new_run 2 '{"run": "touch $PHASED_OUT/ran"}' "$gone"
    start_lead 2
    await_lead 1
    [[ $(outcome 2 '[.outcome, .cause, .message]') == '["failed","launch",'*"$home/secrets/7"* ]]
    [ ! -e "$home/out/ran" ]
}

@test "a full disk under the journal and the logs does not stop the training, and a late daemon gets all" {
    mkdir "$home/full"
    mount -t tmpfs -o size=64k tmpfs "$home/full" 2>/dev/null || skip "may not mount"
    start_daemon --late
    new_run 1 "{\"run\": $(script 'for i in {1..1500}; do echo "step=$i loss=$i.25"; done; echo well >$PHASED_OUT/well')}"
    rm -rf "$home/phase/1/journal"
    ln -s "$home/full" "$home/phase/1/journal"
    start_lead 1
    await_lead
    umount "$home/full"
    [ "$(outcome 1 .outcome)" = succeeded ]
    [ "$(cat "$home/out/well")" = well ]
    [ "$(record 1 n1 'select(.type == "metric")' | wc -l)" = 1500 ]
    [ "$(record 1 n1 .type | tail -n 1)" = exited ]
}

# The folder of a run, on its own disk of 256 KiB.
small_disk() {
    mkdir -p "$home/phase/1"
    mount -t tmpfs -o size=256k tmpfs "$home/phase/1" 2>/dev/null || skip "may not mount"
}

@test "an outcome that does not fit on a full disk is tried again, and given up after some seconds" {
    local free
    small_disk
    for free in --make-room ''; do
        rm -rf "$home"/record/* "$home"/phase/1/* "$home"/phase/lead.* "$job/claim" "$home/out/go"
        start_daemon $free
        new_run 1 "{\"run\": $(script 'for i in {1..200}; do echo "step=$i loss=$i"; done; echo ready; until [ -e $PHASED_OUT/go ]; do sleep 0.2; done')}"
        start_lead 1
        await grep -q ready "$home/phase/1/log/rank-0.log"
        cat /dev/zero >"$home/phase/1/filler" 2>/dev/null || true
        touch "$home/out/go"
        await_lead
        stop_daemon
        if [ $free ]; then
            [ ! -e "$home/phase/1/filler" ] # the daemon knew the end before there was an outcome
            [ "$(outcome 1 .outcome)" = succeeded ]
        else
            [ ! -e "$home/phase/1/outcome.json" ]
            grep -q 'outcome.json.*No space left on device' "$job/job.log"
        fi
    done
    umount "$home/phase/1"
}

@test "a test that has no folder kills nothing" {
    [ -z "$(home='' home_processes)" ]
}
