#!/usr/bin/env bats
# What each process is told of its place, for each shape of a layout, on 1, 2 and 4 nodes.

load phased.bash

setup_file() { sandbox_up 4; }
teardown_file() { sandbox_down; }
setup() { home_up; }
teardown() { home_down; }

# A phase that leaves what its processes are told in PHASED_OUT: layout NODES GPUS LAUNCH PARALLEL.
# Variables that are not set show as they would for a program: not at all.
layout() {
    cat <<SPEC
name: layout
phases:
  a:
    resources: {nodes: $1, gpus: h100:$2, time: 10m}
    launch: $3
    parallel: {$4}
    run: |
      env | grep -E '^(RANK|LOCAL_RANK|WORLD_SIZE|LOCAL_WORLD_SIZE|NODE_RANK|NNODES|GROUP_RANK|[TPD]P_(RANK|SIZE)|PET_[A-Z_]*|CUDA_VISIBLE_DEVICES|SLURM_(PROCID|LOCALID|NTASKS|NNODES|NTASKS_PER_NODE))=' |
        grep -v _PORT | sort | xargs >\$PHASED_OUT/\$SLURMD_NODENAME-\${RANK:-\${DP_RANK:-x}}
      echo \$MASTER_ADDR:\$MASTER_PORT >>\$PHASED_OUT/met-\$SLURMD_NODENAME
SPEC
}

# run_layout NODES GPUS LAUNCH PARALLEL: to its end; its folder in $out.
run_layout() {
    phasectl daemon start
    workflow=$(layout "$@" | submit)
    eventually 60 state "$workflow" succeeded
    out=$PHASED_HOME/runs/$workflow/a/out
}

# What was told, a process a line, in the order of their numbers.
told() {
    find "$out" -name 'n*-*' | sort -V | xargs cat
}

# A rank's variables, sorted: rank RANK LOCAL LOCAL_SIZE NODE NODES TP PP DP TP_RANK PP_RANK DP_RANK DEVICES
rank_line() {
    echo "CUDA_VISIBLE_DEVICES=${12} DP_RANK=${11} DP_SIZE=$8 GROUP_RANK=$4 LOCAL_RANK=$2 LOCAL_WORLD_SIZE=$3 NNODES=$5" \
        "NODE_RANK=$4 PP_RANK=${10} PP_SIZE=$7 RANK=$1 SLURM_LOCALID=$2 SLURM_NNODES=$5 SLURM_NTASKS=$(($3 * $5))" \
        "SLURM_NTASKS_PER_NODE=$3 SLURM_PROCID=$1 TP_RANK=$9 TP_SIZE=$6 WORLD_SIZE=$(($3 * $5))"
}

# All ranks of NODES x GPUS with tensor, pipeline and data sizes, counted as Megatron-LM does.
rank_lines() {
    local rank=0 tensor data pipeline
    for ((pipeline = 0; pipeline < $4; pipeline++)); do
        for ((data = 0; data < $5; data++)); do
            for ((tensor = 0; tensor < $3; tensor++)); do
                rank_line $rank $((rank % $2)) "$2" $((rank / $2)) "$1" "$3" "$4" "$5" $tensor $pipeline $data \
                    "$(seq -s, 0 $(($2 - 1)))"
                rank=$((rank + 1))
            done
        done
    done
}

one_meeting_point() {
    [ "$(cat "$out"/met-* | sort -u | wc -l)" = 1 ]
}

@test "TP=2 x PP=2 x DP=2: eight ranks of one node know their places" {
    run_layout 1 8 rank 'tensor: 2, pipeline: 2, data: 2'
    diff <(rank_lines 1 8 2 2 2) <(told)
    one_meeting_point
    [[ $(cat "$out/met-n1") == 127.0.0.1:* ]]
}

@test "DP=8 on one node" {
    run_layout 1 8 rank 'data: 8'
    diff <(rank_lines 1 8 1 1 8) <(told)
}

@test "DP=16 on two nodes: sixteen ranks meet at one place" {
    run_layout 2 8 rank 'data: 16'
    diff <(rank_lines 2 8 1 1 16) <(told)
    one_meeting_point
}

@test "TP=4 x PP=4 x DP=2 over four nodes: tensor groups stay on a node" {
    run_layout 4 8 rank 'tensor: 4, pipeline: 4'
    diff <(rank_lines 4 8 4 4 2) <(told)
    one_meeting_point
}

@test "launch: node on four nodes: a plain torchrun spans all of them" {
    run_layout 4 8 node 'tensor: 8, data: 4'
    local node
    diff <(told) <(for node in 0 1 2 3; do
        echo "CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 DP_SIZE=4 LOCAL_WORLD_SIZE=8 NNODES=4 NODE_RANK=$node" \
            "PET_MASTER_ADDR=$(cut -d: -f1 "$out/met-n1") PET_NNODES=4 PET_NODE_RANK=$node PET_NPROC_PER_NODE=8" \
            "PP_SIZE=1 SLURM_LOCALID=0 SLURM_NNODES=4 SLURM_NTASKS=4 SLURM_NTASKS_PER_NODE=1 SLURM_PROCID=$node TP_SIZE=8 WORLD_SIZE=32"
    done)
    one_meeting_point
}

# Groups of GROUP GPUs on NODES of GPUS each, with tensor and pipeline sizes: each a world of its own.
group_lines() {
    local index local per_node=$(($2 / $3)) all
    all=$(($1 * per_node))
    for ((index = 0; index < all; index++)); do
        local=$((index % per_node))
        echo "CUDA_VISIBLE_DEVICES=$(seq -s, $((local * $3)) $((local * $3 + $3 - 1))) DP_RANK=$index DP_SIZE=$all" \
            "LOCAL_WORLD_SIZE=$3 NNODES=1 NODE_RANK=0 PET_MASTER_ADDR=127.0.0.1 PET_NNODES=1 PET_NODE_RANK=0" \
            "PET_NPROC_PER_NODE=$3 PP_SIZE=$5 SLURM_NNODES=$1 TP_SIZE=$4 WORLD_SIZE=$3"
    done
}

# Each group meets at a place of its own.
meeting_points_are() {
    [ "$(for file in "$out"/met-*; do sort -u "$file"; done | wc -l)" = "$1" ]
}

@test "two generators with TP=4 side by side on one node, each with its own GPUs" {
    run_layout 1 8 group 'tensor: 4'
    diff <(group_lines 1 8 4 4 1) <(told)
    meeting_points_are 2
}

@test "one group of TP=2 x PP=2 on half a node" {
    run_layout 1 4 group 'tensor: 2, pipeline: 2'
    diff <(group_lines 1 4 4 2 2) <(told)
}

@test "eight groups over four nodes" {
    run_layout 4 8 group 'tensor: 2, pipeline: 2'
    diff <(group_lines 4 8 4 2 2) <(told)
    meeting_points_are 8
}

@test "groups share what Slurm gave to the job, wherever that begins" {
    local other
    other=$(sbatch --parsable -w n1 --gres=gpu:h100:4 -o /dev/null --wrap 'sleep 100')
    phasectl daemon start
    workflow=$(layout 1 4 group 'tensor: 2' | sed 's/^phases:/slurm: {exclude: "n[2-4]"}\n&/' | submit)
    eventually 60 state "$workflow" succeeded
    scancel "$other"
    out=$PHASED_HOME/runs/$workflow/a/out
    diff <(told | grep -o 'CUDA[^ ]*') <(printf 'CUDA_VISIBLE_DEVICES=%s\n' 4,5 6,7)
}

@test "a group that fails stops the others, and is named" {
    phasectl daemon start
    workflow=$(layout 1 8 group 'tensor: 4' | sed 's/^    run: |/&\n      [ $DP_RANK = 0 ] || { echo out of luck; exit 3; }; sleep 100/' | submit)
    eventually 60 state "$workflow" held
    [ "$(record 'SELECT message FROM run')" = 'group 1 on n1 exited with code 3: out of luck' ]
}

# A phase of two groups that split an input of COUNT lines: sharded COUNT RUN [MORE]. Each group
# leaves a line in `executed`, and its lines with a mark.
sharded() {
    seq "$1" >"$PHASED_HOME/input.txt"
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

@test "the input is split by lines among the groups of two nodes, and joined once" {
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

@test "only the shard that failed is run again, and with --from start all are" {
    phasectl daemon start
    workflow=$(sharded 6 'sleep $PHASED_SHARD; [ $PHASED_SHARD = 0 ] || [ -e $PHASED_OUT/lucky ] || exit 3' \
        '[ -e $PHASED_OUT/joins ] || exit 4' | submit)
    out=$PHASED_HOME/runs/$workflow/a/out
    eventually 60 state "$workflow" held
    executed '0 1'
    [ "$(record 'SELECT message FROM run')" = 'group 1 on n1 exited with code 3' ]
    touch "$out/lucky"
    phasectl retry "$workflow/a"
    eventually 60 executed '0 1 1 join'
    eventually 60 state "$workflow" held
    [ "$(record 'SELECT message FROM run ORDER BY id DESC LIMIT 1')" = 'join on n1 exited with code 4' ]
    touch "$out/joins"
    phasectl retry "$workflow/a" # nothing is left but to join
    eventually 60 state "$workflow" succeeded
    executed '0 1 1 join join'
    [ "$(xargs <"$out/all.txt")" = '0:1 0:2 0:3 1:4 1:5 1:6' ]
}

@test "retry --from start does all shards again; so does a changed input" {
    phasectl daemon start
    workflow=$(sharded 4 'sleep $PHASED_SHARD; [ $PHASED_SHARD = 0 ] || exit 3' | submit)
    eventually 60 state "$workflow" held
    phasectl retry "$workflow/a" --from start
    eventually 60 executed '0 0 1 1'
    eventually 60 state "$workflow" held
    sed -i 's/^1$/one/' "$PHASED_HOME/input.txt" # in the shard that is done
    phasectl retry "$workflow/a"
    eventually 60 executed '0 0 0 1 1 1'
    eventually 60 state "$workflow" held
    phasectl retry "$workflow/a"
    eventually 60 executed '0 0 0 1 1 1 1'
}

@test "a preempted phase goes on with the shards that are not done" {
    phasectl daemon start
    workflow=$(NODES=4 sharded 16 'for i in {1..600}; do [ $PHASED_SHARD -lt 3 ] || [ -e $PHASED_OUT/go ] || sleep 0.1; done' |
        sed 's/^phases:/slurm: {partition: preempt}\n&/' | submit)
    out=$PHASED_HOME/runs/$workflow/a/out
    eventually 60 executed '0 1 2 3 4 5 6 7'
    eventually 60 eval "[ \$(ls $PHASED_HOME/runs/$workflow/a/shards | grep -c done) = 3 ]"
    srun -p prod -N 4 --gres=gpu:h100:8 --job-name=preemptor true
    eventually 60 eval "[ \$(record 'SELECT count(*) FROM run') = 2 ]"
    [ "$(record 'SELECT outcome FROM run ORDER BY id LIMIT 1')" = preempted ]
    touch "$out/go"
    eventually 180 state "$workflow" succeeded
    executed '0 1 2 3 3 4 4 5 5 6 6 7 7 join'
    [ "$(cut -d: -f2 "$out/all.txt" | xargs)" = "$(seq 16 | xargs)" ]
}

@test "an output that is not there fails the phase, by its name" {
    phasectl daemon start
    workflow=$(sharded 2 : 'rm $PHASED_OUT/all.txt' | submit)
    eventually 60 state "$workflow" held
    [[ $(record 'SELECT message FROM run') == "outputs: no all.txt in $PHASED_HOME/"*": No such file or directory" ]]
    [ "$(record 'SELECT cause FROM run')" = exit ]
}

@test "an input that is not there is named" {
    phasectl daemon start
    workflow=$(sharded 2 : | sed 's/input.txt}/no.txt}/' | submit)
    eventually 60 eval "[[ \$(record 'SELECT message FROM run LIMIT 1') == *'shard.input $PHASED_HOME/no.txt: No such file or directory' ]]"
}
