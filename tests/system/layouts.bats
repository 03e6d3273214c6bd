#!/usr/bin/env bats
# What each process is told of its place, for each shape of a layout, on 1, 2 and 4 nodes.

load phased.bash

setup_file() {
    sandbox_up 4
    home_up
    export SHAPES=$PHASED_HOME
    phasectl daemon start
    shapes | submit
    eventually 120 state 1 succeeded
    phasectl daemon stop
}
teardown_file() {
    PHASED_HOME=$SHAPES home_down
    sandbox_down
}
setup() { home_up; }
teardown() { home_down; }

# shape NAME NODES GPUS LAUNCH PARALLEL [SCRIPT]: a phase each of whose processes leaves its environment.
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

# All of them in one workflow, side by side where there is room.
shapes() {
    echo 'name: shapes'
    echo 'phases:'
    shape rank_1 1 8 rank 'tensor: 2, pipeline: 2, data: 2'
    shape rank_2 2 8 rank 'data: 16' 'exec phase-model train --out "$PHASED_OUT" --iterations 2 --device-batch-size 1 --eval-every 0'
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

# field FILE NAME: a variable's value; nothing where it is not set.
field() {
    sed -n "s/^$2=//p" "$1"
}

# What was told to a phase, a process a line. Variables that are not set show as they would for a
# program: not at all.
told() {
    local file
    for file in $(environments "$1"); do
        grep -E '^(RANK|LOCAL_RANK|WORLD_SIZE|LOCAL_WORLD_SIZE|NODE_RANK|NNODES|GROUP_RANK|[TPD]P_(RANK|SIZE)|PET_[A-Z_]*|CUDA_VISIBLE_DEVICES|SLURM_(PROCID|LOCALID|NODEID|NTASKS|NNODES|NTASKS_PER_NODE))=' "$file" |
            grep -v _PORT | sort | xargs
    done
}

# The same of a phase on half a node, whichever half Slurm gave it.
told_half() {
    told "$1" | sed 's/=4,5,6,7/=0,1,2,3/'
}

# A rank's variables, sorted: rank RANK LOCAL LOCAL_SIZE NODE NODES TP PP DP TP_RANK PP_RANK DP_RANK DEVICES
rank_line() {
    echo "CUDA_VISIBLE_DEVICES=${12} DP_RANK=${11} DP_SIZE=$8 GROUP_RANK=$4 LOCAL_RANK=$2 LOCAL_WORLD_SIZE=$3 NNODES=$5" \
        "NODE_RANK=$4 PP_RANK=${10} PP_SIZE=$7 RANK=$1 SLURM_LOCALID=$2 SLURM_NNODES=$5 SLURM_NODEID=$4" \
        "SLURM_NTASKS=$(($3 * $5)) SLURM_NTASKS_PER_NODE=$3 SLURM_PROCID=$1 TP_RANK=$9 TP_SIZE=$6 WORLD_SIZE=$(($3 * $5))"
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

# Where the processes of a phase meet: each place once.
places() {
    local file
    for file in $(environments "$1"); do
        echo "$(field "$file" MASTER_ADDR):$(field "$file" MASTER_PORT)"
    done | sort -u
}

# All meet at one place, over nodes at the one that the first of them has published.
one_meeting_point() {
    local published="$SHAPES/runs/1/$1/1/rendezvous-0.json"
    [ "$(places "$1" | wc -l)" = 1 ]
    if [ "$2" = 1 ]; then
        [[ $(places "$1") == 127.0.0.1:* ]]
    else
        [ "$(jq -r '"\(.address):\(.port)"' "$published")" = "$(places "$1")" ]
        [ -z "$(hostname -I)" ] || [[ $(places "$1") != 127.* ]] # other nodes could not go there
    fi
}

@test "TP=2 x PP=2 x DP=2: eight ranks of one node know their places" {
    diff <(rank_lines 1 8 2 2 2) <(told rank_1)
    one_meeting_point rank_1 1
}

@test "DP=16 on two nodes: sixteen ranks meet at one place, and train" {
    diff <(rank_lines 2 8 1 1 16) <(told rank_2)
    one_meeting_point rank_2 2
    grep -q 'finished at step 2' "$SHAPES/runs/1/rank_2/1/log/rank-0.log"
}

@test "TP=4 x PP=4 x DP=2 over four nodes: tensor groups stay on a node" {
    diff <(rank_lines 4 8 4 4 2) <(told rank_4)
    one_meeting_point rank_4 4
}

@test "DP=8 after TP=4 on the same machine: eight ranks see all GPUs" {
    diff <(group_lines 1 4 4 4 1) <(told_half tensor_first)
    diff <(rank_lines 1 8 1 1 8) <(told then_data)
}

@test "launch: node on 1, 2 and 4 nodes: a plain torchrun spans all of them" {
    local node nodes
    for nodes in 1 2 4; do
        diff <(told node_$nodes) <(for ((node = 0; node < nodes; node++)); do
            echo "CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 DP_SIZE=$nodes LOCAL_WORLD_SIZE=8 NNODES=$nodes NODE_RANK=$node" \
                "PET_MASTER_ADDR=$(places node_$nodes | cut -d: -f1) PET_NNODES=$nodes PET_NODE_RANK=$node PET_NPROC_PER_NODE=8" \
                "PP_SIZE=1 SLURM_LOCALID=0 SLURM_NNODES=$nodes SLURM_NODEID=$node SLURM_NTASKS=$nodes SLURM_NTASKS_PER_NODE=1" \
                "SLURM_PROCID=$node TP_SIZE=8 WORLD_SIZE=$((8 * nodes))"
        done)
        one_meeting_point node_$nodes $nodes
        diff <(cat $(environments node_$nodes) | sed -n 's/^PET_MASTER_PORT=//p' | sort -u) <(places node_$nodes | cut -d: -f2)
    done
}

# Groups of GROUP GPUs on NODES of GPUS each, with tensor and pipeline sizes: each a world of its own.
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

# Groups of one node meet at places of their own; those of two nodes may choose the same port.
own_meeting_points() {
    local node
    for node in $(environments "$1" | sed 's,.*/,,; s,-.*,,' | sort -u); do
        [ "$(for file in $(environments "$1" | grep "/$node-"); do field "$file" MASTER_PORT; done | sort | uniq -d)" = '' ]
    done
    [ "$(places "$1" | cut -d: -f1 | sort -u)" = 127.0.0.1 ]
}

@test "two generators with TP=4 side by side on one node, each with its own GPUs" {
    diff <(group_lines 1 8 4 4 1) <(told group_1)
    own_meeting_points group_1
}

@test "one group of TP=2 x PP=2 on half a node, and of TP=4 x PP=2 on a whole one" {
    diff <(group_lines 1 4 4 2 2) <(told_half half_a_node)
    diff <(group_lines 1 8 8 4 2) <(told whole_node)
}

@test "four groups over two nodes, and eight over four" {
    diff <(group_lines 2 8 4 4 1) <(told group_2)
    diff <(group_lines 4 8 4 2 2) <(told group_4)
    own_meeting_points group_2
    own_meeting_points group_4
}

@test "Lightning and NeMo take Slurm's word: it says of each rank what it is" {
    local file first nodes
    for nodes in 1 2 4; do
        first=$(environments rank_$nodes | head -n 1)
        for file in $(environments rank_$nodes); do
            # They manage ranks by Slurm where its tasks are as many as all devices, unless the job
            # is called so; they meet at the first node of the list.
            [ "$(field "$file" SLURM_NTASKS)" = $((8 * nodes)) ]
            [[ $(field "$file" SLURM_JOB_NAME) != @(bash|interactive|'') ]]
            [ -z "$(field "$file" TORCHELASTIC_RUN_ID)" ]
            [ "$(scontrol show hostnames "$(field "$file" SLURM_NODELIST)" | head -n 1)" = "$(field "$first" SLURMD_NODENAME)" ]
            [ "$(field "$file" SLURM_NODEID)" = "$(field "$file" NODE_RANK)" ]
        done
    done
}

@test "groups share what Slurm gave to the job, wherever that begins" {
    local other
    other=$(sbatch --parsable -w n1 --gres=gpu:h100:4 -o /dev/null --wrap 'sleep 100')
    phasectl daemon start
    workflow=$({
        printf 'name: half\nslurm: {exclude: "n[2-4]"}\nphases:\n'
        shape half 1 4 group 'tensor: 2'
    } | submit)
    eventually 60 state "$workflow" succeeded
    scancel "$other"
    diff <(cat "$PHASED_HOME/runs/$workflow/half/out"/n1-? | grep CUDA_V) <(printf 'CUDA_VISIBLE_DEVICES=%s\n' 4,5 6,7)
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

@test "only the shard that failed is run again, and then they are joined" {
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

# How the groups of a run ended, in their order: its code, or - and the signal.
ends() {
    jq -rs '[.[] | select(.type == "exited") | .ranks[]] | sort_by(.rank) |
        map(if .signal > 0 then "-\(.signal)" else "\(.code)" end) | join(" ")' \
        "$PHASED_HOME/runs/$workflow/a/1/journal"/n?.jsonl
}

@test "a group that fails stops the others by the ladder, and what they left half done is done again" {
    phasectl daemon start
    workflow=$(NODES=2 sharded 8 "
      who=\$PHASED_SHARD
      [ ! -e \$PHASED_OUT/lucky ] || who=lucky
      case \$who in
      0) trap 'echo told >\$PHASED_OUT/told; exit 0' TERM;;
      1) until [ -e \$PHASED_OUT/deaf ]; do sleep 0.1; done; echo out of luck; exit 3;;
      2) trap '' TERM; touch \$PHASED_OUT/deaf;;
      3) exec sleep 100;;
      esac
      for i in {1..1000}; do [ \$who != lucky ] || break; sleep 0.1; done" | submit)
    eventually 60 state "$workflow" held
    [ "$(record 'SELECT message FROM run')" = 'group 1 on n1 exited with code 3: out of luck' ]
    [ "$(ends)" = '0 3 -9 -15' ]
    [ -e "$PHASED_HOME/runs/$workflow/a/out/told" ]
    eventually 10 eval '! pgrep -f "$PHASED_HOME/runs/$workflow/a/1/run.sh"'
    touch "$PHASED_HOME/runs/$workflow/a/out/lucky"
    phasectl retry "$workflow/a" # to end well because one is told to stop is not to have done it
    eventually 60 executed '0 0 1 1 2 2 3 3 join'
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
    eventually 60 test -e "$PHASED_HOME/runs/$workflow/a/2/rendezvous-1.json" # by the job's second life
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
