#!/usr/bin/env bats
# What each process finds in its environment, for each shape of a layout, on 1, 2 and 4 nodes.

load phased.bash

queue_is_empty() { [ -z "$(squeue -h)" ]; }

setup_file() {
    sandbox_up 4
    home_up
    export SHAPES=$PHASED_HOME
    phasectl daemon start
    shapes | submit
    eventually 120 state 1 succeeded
    phasectl daemon stop
    eventually 60 queue_is_empty
}
teardown_file() {
    PHASED_HOME=$SHAPES home_down
    sandbox_down
}
setup() { home_up; }
teardown() { home_down; }

# shape NAME NODES GPUS LAUNCH PARALLEL [SCRIPT]: a phase whose processes save their environments.
shape() {
    cat <<SPEC
  $1:
    resources: {nodes: $2, gpus: h100:$3, time: 10m}
    preflight: off
    launch: $4
    parallel: {$5}
    run: |
      env >\$PHASED_OUT/\$SLURMD_NODENAME-\${RANK:-\${DP_RANK:-x}}
      ${6:-}
SPEC
}

# All shapes in one workflow, side by side where there is room.
shapes() {
    echo 'name: shapes'
    echo 'phases:'
    shape rank_1 1 8 rank 'tensor: 2, pipeline: 2, data: 2'
    shape rank_2 2 8 rank 'data: 16' 'exec phase-model train --out "$PHASED_OUT" --iterations 2 --device-batch-size 1 --width 16 --heads 1 --loops 1 --eval-every 0'
    shape rank_4 4 8 rank 'tensor: 4, pipeline: 4'
    shape node_1 1 8 node 'tensor: 8'
    shape node_2 2 8 node 'tensor: 8'
    shape node_4 4 8 node 'tensor: 8, data: 4'
    shape group_1 1 8 group 'tensor: 4'
    shape group_2 2 8 group 'tensor: 4'
    shape group_4 4 8 group 'tensor: 2, pipeline: 2'
    shape half_a_node 1 4 group 'tensor: 2, pipeline: 2'
    shape whole_node 1 8 group 'tensor: 4, pipeline: 2'
    shape tensor_first 1 4 group 'tensor: 4'
    shape then_data 1 8 rank 'data: 8' | sed '1a\    after: tensor_first'
}

# The files of a phase's processes, in the order of their numbers.
environments() {
    find "$SHAPES/runs/1/$1/out" -name 'n*-*' | sort -V
}

# variables PHASE NAME...: the values of these variables, with one line for each process.
# Variables that are not set are left out.
variables() {
    local phase=$1
    shift
    environments "$phase" | xargs awk -v wanted="$*" '
        function tell() {
            line = ""
            for (i = 1; i <= count; i++)
                if (names[i] in values)
                    line = line (line == "" ? "" : " ") names[i] "=" values[names[i]]
            print line
        }
        BEGIN { count = split(wanted, names) }
        FNR == 1 && NR > 1 { tell(); split("", values) }
        { at = index($0, "="); values[substr($0, 1, at - 1)] = substr($0, at + 1) }
        END { tell() }'
}

# All variables that say the place of a process of a phase.
told() {
    variables "$1" CUDA_VISIBLE_DEVICES DP_RANK DP_SIZE GROUP_RANK LOCAL_RANK LOCAL_WORLD_SIZE NNODES NODE_RANK \
        PET_MASTER_ADDR PET_NNODES PET_NODE_RANK PET_NPROC_PER_NODE PET_STANDALONE PP_RANK PP_SIZE RANK SLURM_LOCALID \
        SLURM_NNODES SLURM_NODEID SLURM_NTASKS SLURM_NTASKS_PER_NODE SLURM_PROCID TORCHELASTIC_RUN_ID TP_RANK TP_SIZE WORLD_SIZE
}

# The same for a phase on half a node, whichever half Slurm gave to it.
told_half() {
    told "$1" | sed 's/=4,5,6,7/=0,1,2,3/'
}

# The variables of one rank, sorted:
# rank_line RANK LOCAL LOCAL_SIZE NODE NODES TP PP DP TP_RANK PP_RANK DP_RANK DEVICES
rank_line() {
    echo "CUDA_VISIBLE_DEVICES=${12} DP_RANK=${11} DP_SIZE=$8 GROUP_RANK=$4 LOCAL_RANK=$2 LOCAL_WORLD_SIZE=$3 NNODES=$5" \
        "NODE_RANK=$4 PP_RANK=${10} PP_SIZE=$7 RANK=$1 SLURM_LOCALID=$2 SLURM_NNODES=$5 SLURM_NODEID=$4" \
        "SLURM_NTASKS=$(($3 * $5)) SLURM_NTASKS_PER_NODE=$3 SLURM_PROCID=$1 TP_RANK=$9 TP_SIZE=$6 WORLD_SIZE=$(($3 * $5))"
}

# All ranks of NODES x GPUS with tensor, pipeline and data sizes, counted as Megatron-LM does.
rank_lines() {
    local rank=0 tensor data pipeline devices
    devices=$(seq -s, 0 $(($2 - 1)))
    for ((pipeline = 0; pipeline < $4; pipeline++)); do
        for ((data = 0; data < $5; data++)); do
            for ((tensor = 0; tensor < $3; tensor++)); do
                rank_line $rank $((rank % $2)) "$2" $((rank / $2)) "$1" "$3" "$4" "$5" $tensor $pipeline $data $devices
                rank=$((rank + 1))
            done
        done
    done
}

# Where the processes of a phase meet, one line for each process. With PET_: what torchrun reads.
places() {
    variables "$1" "${2:-}MASTER_ADDR" "${2:-}MASTER_PORT" | sed -E 's/[A-Z_]+=//; s/ [A-Z_]+=/:/'
}

# All processes meet at one place. On several nodes the first node has published the place.
one_meeting_point() {
    local published="$SHAPES/runs/1/$1/1/rendezvous-0.json"
    local place
    place=$(places "$1" | sort -u)
    [[ $place =~ ^[0-9.]+:[0-9]+$ ]]
    if [ "$2" = 1 ]; then
        [[ $place == 127.0.0.1:* ]]
    else
        [ "$(gojq -r '"\(.address):\(.port)"' "$published")" = "$place" ]
        [ -z "$(hostname -I)" ] || [[ $place != 127.* ]] # other nodes could not go there
    fi
}

@test "launch: rank with TP=2 x PP=2 x DP=2 tells eight ranks of one node their places" {
    diff <(rank_lines 1 8 2 2 2) <(told rank_1)
    one_meeting_point rank_1 1
}

@test "launch: rank with DP=16 on two nodes gives sixteen ranks one meeting point, and they train" {
    diff <(rank_lines 2 8 1 1 16) <(told rank_2)
    one_meeting_point rank_2 2
    grep -q 'finished at step 2' "$SHAPES/runs/1/rank_2/1/log/rank-0.log"
}

@test "launch: rank with TP=4 x PP=4 x DP=2 on four nodes keeps each tensor group on one node" {
    diff <(rank_lines 4 8 4 4 2) <(told rank_4)
    one_meeting_point rank_4 4
}

@test "a phase with DP=8 after a phase with TP=4 gives each of eight ranks all GPUs of the node" {
    diff <(group_lines 1 4 4 4 1) <(told_half tensor_first)
    diff <(rank_lines 1 8 1 1 8) <(told then_data)
}

@test "launch: node on 1, 2 and 4 nodes lets a plain torchrun span all nodes" {
    local node nodes
    for nodes in 1 2 4; do
        diff <(told node_$nodes) <(for ((node = 0; node < nodes; node++)); do
            echo "CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 DP_SIZE=$nodes LOCAL_WORLD_SIZE=8 NNODES=$nodes NODE_RANK=$node" \
                "PET_MASTER_ADDR=$(places node_$nodes | head -n 1 | cut -d: -f1) PET_NNODES=$nodes PET_NODE_RANK=$node PET_NPROC_PER_NODE=8" \
                "PP_SIZE=1 SLURM_LOCALID=0 SLURM_NNODES=$nodes SLURM_NODEID=$node SLURM_NTASKS=$nodes SLURM_NTASKS_PER_NODE=1" \
                "SLURM_PROCID=$node TP_SIZE=8 WORLD_SIZE=$((8 * nodes))"
        done)
        one_meeting_point node_$nodes $nodes
        diff <(places node_$nodes) <(places node_$nodes PET_)
    done
}

# group_lines NODES GPUS GROUP TENSOR PIPELINE: groups of GROUP GPUs on NODES with GPUS each. Each
# group is its own world.
group_lines() {
    local index local per_node=$(($2 / $3)) all
    all=$(($1 * per_node))
    for ((index = 0; index < all; index++)); do
        local=$((index % per_node))
        echo "CUDA_VISIBLE_DEVICES=$(seq -s, $((local * $3)) $((local * $3 + $3 - 1))) DP_RANK=$index DP_SIZE=$all" \
            "LOCAL_WORLD_SIZE=$3 NNODES=1 NODE_RANK=0 PET_MASTER_ADDR=127.0.0.1 PET_NNODES=1 PET_NODE_RANK=0" \
            "PET_NPROC_PER_NODE=$3 PP_SIZE=$5 SLURM_NNODES=$1 SLURM_NODEID=$((index / per_node)) TP_SIZE=$4 WORLD_SIZE=$3"
    done
}

# Groups of one node have different ports. Groups of two nodes may choose the same port.
own_meeting_points() {
    local node ports
    diff <(places "$1") <(places "$1" PET_)
    [ "$(places "$1" | cut -d: -f1 | sort -u)" = 127.0.0.1 ]
    for node in $(environments "$1" | sed 's,.*/,,; s,-.*,,' | sort -u); do
        ports=$(sed -n 's/^MASTER_PORT=//p' "$SHAPES/runs/1/$1/out/$node"-*)
        [ -n "$ports" ]
        [ -z "$(sort <<<"$ports" | uniq -d)" ]
    done
}

@test "launch: group runs two groups with TP=4 side by side on one node, each with its own GPUs" {
    diff <(group_lines 1 8 4 4 1) <(told group_1)
    own_meeting_points group_1
}

@test "launch: group runs TP=2 x PP=2 on half a node, and TP=4 x PP=2 on a whole node" {
    diff <(group_lines 1 4 4 2 2) <(told_half half_a_node)
    diff <(group_lines 1 8 8 4 2) <(told whole_node)
}

@test "launch: group runs four groups on two nodes, and eight groups on four nodes" {
    diff <(group_lines 2 8 4 4 1) <(told group_2)
    diff <(group_lines 4 8 4 2 2) <(told group_4)
    own_meeting_points group_2
    own_meeting_points group_4
}

@test "the Slurm variables of each rank are right for Lightning and NeMo, which read them" {
    local nodes hosts node
    for nodes in 1 2 4; do
        # They leave ranks to Slurm if its tasks are as many as all devices (which `told` shows)
        # and the job is not called bash or interactive. They meet at the first node of the list.
        hosts=$(scontrol show hostnames "$(variables rank_$nodes SLURM_NODELIST | sort -u | cut -d= -f2)")
        diff <(variables rank_$nodes SLURM_JOB_NAME SLURM_NODEID SLURMD_NODENAME | uniq) <(
            node=0
            for host in $hosts; do
                echo "SLURM_JOB_NAME=phased SLURM_NODEID=$node SLURMD_NODENAME=$host"
                node=$((node + 1))
            done
        )
    done
}

@test "groups share the GPUs that Slurm gave to the job, even if those do not start at GPU 0" {
    local other
    other=$(sbatch --parsable -w n1 --gres=gpu:h100:4 -o /dev/null --wrap 'sleep 1000')
    phasectl daemon start
    eventually 60 eval '[ "$(squeue -h -j "$other" -o %T)" = RUNNING ]'
    workflow=$({
        printf 'name: half\nslurm: {exclude: "n[2-4]"}\nphases:\n'
        shape half 1 4 group 'tensor: 2'
    } | submit)
    eventually 60 state "$workflow" succeeded
    scancel "$other"
    diff <(cat "$PHASED_HOME/runs/$workflow/half/out"/n1-? | grep CUDA_V) <(printf 'CUDA_VISIBLE_DEVICES=%s\n' 4,5 6,7)
}

# sharded COUNT RUN [MORE]: a phase of two groups that split an input of COUNT lines. Each group
# adds a line to `executed`, and marks its lines.
sharded() {
    seq "$1" >"$PHASED_HOME/input.new"
    mv "$PHASED_HOME/input.new" "$PHASED_HOME/input.txt" # a phase may be reading the one before
    cat <<SPEC
name: sharded
phases:
  a:
    resources: {nodes: ${NODES:-1}, gpus: h100:8, time: 10m}
    launch: group
    parallel: {tensor: 4}
    params: {input: $PHASED_HOME/input.txt}
    shard: {input: \$input, by: lines}
    run: |
      echo \$PHASED_SHARD >>\$PHASED_OUT/executed
      echo "\$PHASED_SHARD of \$PHASED_SHARDS \$(xargs <\$PHASED_SHARD_FILE)" >\$PHASED_OUT/lines-\$PHASED_SHARD
      $2
      sed "s/^/\$PHASED_SHARD:/" \$PHASED_SHARD_FILE >\$PHASED_OUT/part-\$PHASED_SHARD.txt
    join: |
      echo join >>\$PHASED_OUT/executed
      cat \$PHASED_OUT/part-?.txt >\$PHASED_OUT/all.txt
      phase-worker metric valid=\$(wc -l <\$PHASED_OUT/all.txt) total=\$(wc -l <\$input)
      ${3:-}
    outputs: [all.txt]
    gate: {success: {value: 100 * last(valid) / last(total), at_least: 100}}
SPEC
}

executed() {
    [ "$(sort "$PHASED_HOME/runs/$workflow/a/out/executed" | xargs)" = "$1" ]
}

@test "the input is split by lines among the groups of two nodes, and the outputs are joined once" {
    phasectl daemon start
    workflow=$(NODES=2 sharded 10 : | submit)
    eventually 60 state "$workflow" succeeded
    out=$PHASED_HOME/runs/$workflow/a/out
    [ "$(cat "$out"/lines-?)" = '0 of 4 1 2
1 of 4 3 4 5
2 of 4 6 7
3 of 4 8 9 10' ]
    [ "$(xargs <"$out/all.txt")" = '0:1 0:2 1:3 1:4 1:5 2:6 2:7 3:8 3:9 3:10' ]
    executed '0 1 2 3 join'
    [ "$(record 'SELECT value FROM verdict')" = 100.0 ]
    [ ! -e "$PHASED_HOME/runs/$workflow/a/shards" ]
}

@test "only the shard that failed is run again, and then the outputs are joined" {
    phasectl daemon start
    workflow=$(sharded 6 '[ $PHASED_SHARD = 0 ] || until [ -e $PHASED_OUT/../shards/0.done ]; do sleep 0.2; done
      [ $PHASED_SHARD = 0 ] || [ -e $PHASED_OUT/lucky ] || exit 3' \
        '[ -e $PHASED_OUT/joins ] || exit 4' | submit)
    out=$PHASED_HOME/runs/$workflow/a/out
    eventually 60 state "$workflow" held
    executed '0 1'
    last_says 'group 1 on ' ' exited with code 3'
    touch "$out/lucky"
    phasectl retry "$workflow/a"
    eventually 60 executed '0 1 1 join'
    eventually 60 state "$workflow" held
    last_says 'join on ' ' exited with code 4'
    touch "$out/joins"
    phasectl retry "$workflow/a" # nothing is left but to join
    eventually 60 state "$workflow" succeeded
    executed '0 1 1 join join'
    [ "$(xargs <"$out/all.txt")" = '0:1 0:2 0:3 1:4 1:5 1:6' ]
}

# How the groups of a run ended, in their order: the exit code, or - and the signal.
ends() {
    gojq -rs '[.[] | select(.type == "exited") | .ranks[]] | sort_by(.rank) |
        map(if .signal > 0 then "-\(.signal)" else "\(.code)" end) | join(" ")' \
        "$PHASED_HOME/runs/$workflow/a/1/journal"/n?.jsonl
}

@test "a group that fails stops the other groups by the ladder, and a retry does unfinished shards again" {
    phasectl daemon start
    workflow=$(NODES=2 sharded 8 "
      who=\$PHASED_SHARD
      [ ! -e \$PHASED_OUT/lucky ] || who=lucky
      case \$who in
      0) trap 'echo told >\$PHASED_OUT/told; exit 0' TERM; touch \$PHASED_OUT/ears;;
      1) until [ -e \$PHASED_OUT/deaf ] && [ -e \$PHASED_OUT/ears ]; do sleep 0.3; done; echo out of luck; exit 3;;
      2) trap '' TERM; touch \$PHASED_OUT/deaf;;
      3) exec sleep 100;;
      esac
      for i in {1..1000}; do [ \$who != lucky ] || break; sleep 0.1; done" | submit)
    eventually 60 state "$workflow" held
    last_says 'group 1 on ' ' exited with code 3: out of luck'
    [ "$(ends)" = '0 3 -9 -15' ]
    [ -e "$PHASED_HOME/runs/$workflow/a/out/told" ]
    eventually 60 eval '! pgrep -f "$PHASED_HOME/runs/$workflow/a/1/run.sh"'
    touch "$PHASED_HOME/runs/$workflow/a/out/lucky"
    phasectl retry "$workflow/a" # to end well because one is told to stop is not to have done it
    eventually 60 executed '0 0 1 1 2 2 3 3 join'
}

@test "retry --from start does all shards again, even if the daemon dies, and a changed input is done again" {
    PHASED_CRASH=submit:2:before phasectl daemon start
    eventually 60 has_cluster # else the first submission does nothing
    # Group 1 fails when group 0 has begun as often, and has done its shard.
    workflow=$(sharded 4 '[ $PHASED_SHARD = 0 ] || {
        until [ -e $PHASED_OUT/../shards/0.done ] &&
          [ $(grep -c 0 $PHASED_OUT/executed) = $(grep -c 1 $PHASED_OUT/executed) ]; do sleep 0.2; done
        exit 3
      }' | submit)
    eventually 60 state "$workflow" held
    phasectl retry "$workflow/a" --from start || true # it may die before it answers
    eventually 60 eval '! daemon_pid'
    phasectl daemon start
    eventually 60 executed '0 0 1 1'
    eventually 60 state "$workflow" held
    sed -i 's/^1$/one/' "$PHASED_HOME/input.txt" # in the shard that is done
    phasectl retry "$workflow/a"
    eventually 60 executed '0 0 0 1 1 1'
}

@test "a preempted phase goes on with the shards that are not done" {
    phasectl daemon start
    workflow=$(NODES=4 sharded 16 'until [ $PHASED_SHARD -lt 3 ] || [ -e $PHASED_OUT/go ]; do sleep 0.1; done' |
        sed 's/^phases:/slurm: {partition: preempt}\n&/' | submit)
    out=$PHASED_HOME/runs/$workflow/a/out
    eventually 60 executed '0 1 2 3 4 5 6 7'
    eventually 60 eval "[ \$(ls $PHASED_HOME/runs/$workflow/a/shards | grep -c done) = 3 ]"
    srun -p prod -N 4 --gres=gpu:h100:8 --job-name=preemptor true
    eventually 60 eval "[ \$(record 'SELECT count(*) FROM run') = 2 ]"
    [ "$(record 'SELECT outcome FROM run ORDER BY id LIMIT 1')" = preempted ]
    touch "$out/go"
    eventually 60 test -e "$PHASED_HOME/runs/$workflow/a/2/rendezvous-1.json" # by the job's second life
    eventually 180 state "$workflow" succeeded
    executed '0 1 2 3 3 4 4 5 5 6 6 7 7 join'
    [ "$(cut -d: -f2 "$out/all.txt" | xargs)" = "$(seq 16 | xargs)" ]
}

@test "a group that is out of memory with TP=4 is started again with TP=8, on twice the GPUs" {
    phasectl daemon start
    workflow=$(sharded 3 '[ $tp = 8 ] || { echo "torch.OutOfMemoryError: CUDA out of memory."; exit 1; }
      echo $CUDA_VISIBLE_DEVICES >$PHASED_OUT/devices' |
        sed 's/h100:8/h100:4/; s/tensor: 4/tensor: $tp/; s/params: {/&tp: 4, /' |
        sed '$a\    remedies: {oom: {set: {tp: tp * 2}}}' | submit)
    eventually 60 state "$workflow" succeeded
    executed '0 0 join'
    [ "$(cat "$PHASED_HOME/runs/$workflow/a/out/devices")" = 0,1,2,3,4,5,6,7 ]
    [ "$(record 'SELECT gpus_per_node FROM job ORDER BY id' | paste -sd' ')" = '4 8' ]
}

# message WORKFLOW: why its first run ended.
message() {
    record "SELECT cause || ': ' || message FROM run WHERE phase = (SELECT id FROM phase WHERE workflow = $1) ORDER BY id LIMIT 1"
}

@test "an output or an input that is missing fails the phase and is named, and no node is blamed" {
    local without_input
    phasectl daemon start
    workflow=$(sharded 2 : 'rm $PHASED_OUT/all.txt' | submit)
    without_input=$(sharded 2 : | sed 's/input.txt}/no.txt}/' | submit)
    eventually 60 state "$workflow" held
    [[ $(message "$workflow") == "exit: outputs: no all.txt in $PHASED_HOME/"*": No such file or directory" ]]
    eventually 60 eval '[[ $(message "$without_input") == "exit: "*"shard.input: $PHASED_HOME/no.txt: No such file or directory" ]]'
    [ "$(record 'SELECT count(*) FROM node_health')" = 0 ]
}

@test "a killed group fails alone: only its shard is run again, and the outputs of both are joined" {
    local out pids made
    phasectl daemon start
    workflow=$(sed '/^  student:/,$d' "$SRC/etc/workflows/distill.yaml" | submit --set teach.iterations=12)
    out=$PHASED_HOME/runs/$workflow/generate/out
    eventually 90 test -s "$out/part-1-of-2.jsonl"
    pids=$(pgrep -f "$out/part-1-of-2.jsonl")
    kill -STOP $pids # until the other group has done its shard
    [ "$(wc -w <<<"$pids")" = 4 ]
    made=$(wc -l <"$out/part-1-of-2.jsonl")
    eventually 90 test -e "$PHASED_HOME/runs/$workflow/generate/shards/0.done"
    kill -KILL "$(pgrep -n -f "$out/part-1-of-2.jsonl")"
    kill -CONT $pids || true # but for the one that is gone
    eventually 60 state "$workflow" held
    [[ $(record "SELECT message FROM run WHERE outcome = 'failed'") == 'group 1 on n'?' exited with code 1: phase-model: rank '?' of the group died of signal 9' ]]

    phasectl retry "$workflow/generate"
    eventually 120 state "$workflow" succeeded
    [ "$(cd "$PHASED_HOME/runs/$workflow/generate/2/log" && echo rank-?.log)" = 'rank-1.log rank-2.log' ] # the last one joins
    grep -q "resumed after $made lines" "$PHASED_HOME/runs/$workflow/generate/2/log/rank-1.log"
    diff <(gojq -r .prompt "$out/data.jsonl") <(phase-model text)
}
