#!/usr/bin/env bats
# phased recognises from the output why a run failed, and the cause follows from that.

load phased.bash

setup_file() { sandbox_up 2; }
teardown_file() { sandbox_down; }
setup() {
    nodes_settle
    home_up
}
teardown() { home_down; }

# One phase that fails: failing RESOURCES LAUNCH <SCRIPT.
failing() {
    cat <<SPEC
name: failing
phases:
  a:
    resources: {$1, time: 10m}
    launch: $2
    preflight: off
    run: |
$(sed 's/^/      /')
SPEC
}

# failed WORKFLOW: waits for the end of its first run, and prints the members of its outcome. The only
# node of a run is printed as `it`, because Slurm takes another node while the job before completes.
failed() {
    local run="$PHASED_HOME/runs/$1/a/1" node
    eventually 60 test -s "$run/outcome.json"
    eventually 60 state "$1" held
    node=$(record "SELECT run.nodes FROM run JOIN phase ON phase.id = run.phase WHERE workflow = $1 AND attempt = 1")
    gojq -r '[.cause, .failure.name, .failure.rank, .failure.node, .failure.blame, .node] | map(. // "-" | tostring) | join(" ")' \
        "$run/outcome.json" | sed "s/\b$node\b/it/"
}

# What torch prints when a rank runs out of memory.
torch_oom() {
    cat <<'LOG'
Traceback (most recent call last):
  File "/home/u/train.py", line 212, in <module>
    loss.backward()
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total capacity of 79.11 GiB.
LOG
}

@test "a rank that is out of GPU memory gives the cause oom, even if other ranks fail first because of it" {
    phasectl daemon start
    torch_oom >"$PHASED_HOME/oom"
    workflow=$(failing 'nodes: 2, gpus: h100:2' rank <<SCRIPT | submit
if [ \$RANK = 3 ]; then
    cat $PHASED_HOME/oom >&2
    touch \$PHASED_OUT/printed
    exec sleep 600 # as a process that cannot end while its peers wait
fi
until [ -e \$PHASED_OUT/printed ]; do sleep 0.2; done
[ \$RANK = 1 ] || exec sleep 600
echo 'torch.distributed.DistBackendError: NCCL error: remote process exited or there was a network error'
exit 1
SCRIPT
    )
    [ "$(failed "$workflow")" = 'oom cuda_oom 3 n2 code -' ]
    [ "$(record 'SELECT cause FROM run')" = oom ]
    [ "$(record 'SELECT name || rank || node || cause FROM v_failure')" = cuda_oom3n2oom ]

    run phasectl why "$workflow"
    [[ $output == *"$workflow/a#1 failed: oom"* ]]
    [[ $output == *'out of GPU memory on rank 3 (n2): torch.OutOfMemoryError: CUDA out of memory.'* ]]
    [[ $output == *'advice: Use a smaller micro-batch'*'sharding.'*'remedies: {oom: ...}'* ]]
    [[ $output == *'known as cuda_oom; the code or its params are to blame'* ]]
    [[ $output == *'the last lines of rank 3,'* ]]
    curl -s --unix-socket "$PHASED_HOME/phased.sock" "http://phased/v1/workflows/$workflow/phases/a/runs/1" |
        gojq -e '.failure | .name == "cuda_oom" and .rank == 3 and .node == "n2" and .blame == "code"'
}

@test "a module that cannot be loaded is recognised, and blank lines take no place among the last lines" {
    phasectl daemon start
    workflow=$(submit <<'SPEC'
name: modules
phases:
  a:
    resources: {nodes: 1, time: 10m}
    on_fail: fail
    run: |
      for line in 1 2 3 4 5 6; do echo "line $line"; done
      echo 'Lmod has detected the following error:  The following module(s) are unknown:'
      printf '"cuda/99"\n\n  \nThe file must start with the string\n#%%Module\n\n\n\n'
      exit 1
SPEC
    )
    eventually 60 state "$workflow" failed
    run phasectl why "$workflow"
    [[ $output == *'a module of the site cannot be loaded on'*'advice: See `module avail`'* ]]
    local last=${output#*the last lines of rank}
    [ "$(grep -cE '^ +[0-9]{4}-\S+ \S' <<<"$last")" = 10 ]
    [[ $last == *'line 1'*'#%Module'* ]]
}

@test "a remedy answers phase-model, which finds too little memory on its GPU" {
    [ -x "$BIN/../tests/fake/phase-model-gpu" ] || skip "built without CUDA or cuDNN"
    phasectl daemon start
    workflow=$(submit <<SPEC
name: smaller
phases:
  a:
    resources: {nodes: 1, gpus: h100:1, time: 10m}
    launch: rank
    preflight: off
    params: {batch: 8}
    run: |
      export PHASED_MODEL_GPU=$(realpath "$BIN/../tests/fake/phase-model-gpu") CUDA_VISIBLE_DEVICES=0 FAKE_CUDA=
      [ \$batch -le 2 ] || FAKE_CUDA=room=0
      exec phase-model train --device cuda --width 16 --heads 1 --loops 1 --sequence-length 8 --iterations 1 \
        --eval-every 0 --device-batch-size \$batch --out "\$PHASED_OUT"
    remedies: {oom: {set: {batch: batch / 2}, times: 2}}
SPEC
    )
    eventually 60 state "$workflow" succeeded
    [ "$(record "SELECT group_concat(ifnull(cause, outcome)) FROM run")" = oom,oom,succeeded ]
}

@test "the failing rank of torchrun is found in its output; an unknown failure has the cause exit" {
    phasectl daemon start
    workflow=$(failing 'nodes: 1, gpus: h100:2' node <<'SCRIPT' | submit
echo '[rank1]: ValueError: no such column'
echo 'torch.distributed.elastic.multiprocessing.errors.ChildFailedError:'
exit 1
SCRIPT
    )
    [ "$(failed "$workflow")" = 'exit python 1 it code -' ]
    last_says 'Python exception on rank 1 (' '): [rank1]: ValueError: no such column'

    workflow=$(failing 'nodes: 1, gpus: h100:1' node <<<'echo nothing to see; exit 3' | submit)
    [ "$(failed "$workflow")" = 'exit - - - - -' ]
    last_says 'the command on ' ' exited with code 3: nothing to see'
}

@test "a node that lost a GPU is not used for the next run" {
    phasectl daemon start
    workflow=$(failing 'nodes: 1, gpus: h100:1' node <<'SCRIPT' | submit
echo "$SLURMD_NODENAME" >>"$PHASED_OUT/nodes"
[ "$SLURMD_NODENAME" = n1 ] || exit 0
echo 'RuntimeError: CUDA error: uncorrectable ECC error encountered'
exit 1
SCRIPT
    )
    eventually 90 state "$workflow" succeeded
    [ "$(paste -sd' ' "$PHASED_HOME/runs/$workflow/a/out/nodes")" = 'n1 n2' ]
    [ "$(record "SELECT cause FROM run WHERE attempt = 1")" = node_fail ]
    [ "$(record 'SELECT node || cause FROM v_node')" = n1node_fail ]
    run phasectl why "$workflow/a#1"
    [[ $output == *'the node n1 is to blame, and new jobs do not use it'* ]]
}

@test "a rank that a signal ended is reported with the signal" {
    phasectl daemon start
    workflow=$(failing 'nodes: 1, gpus: h100:1' node <<<'kill -SEGV $$' | submit)
    [ "$(failed "$workflow")" = 'exit segmentation_fault - it code -' ]
    last_says 'segmentation fault on ' ': was killed by signal 11 (Segmentation fault)'
}

@test "failures lists the known failures, and searches logs for them, without a daemon" {
    [ "$(phasectl failures --json | gojq -r 'map(select(.name == "cuda_oom")) | .[0] | .cause + " " + .blame')" = 'oom code' ]
    torch_oom >"$PHASED_HOME/log"
    echo 'all is well' >"$PHASED_HOME/other"
    run phasectl failures "$PHASED_HOME/log" "$PHASED_HOME/other"
    [ "$status" -eq 0 ]
    [ "${lines[0]}" = "$PHASED_HOME/log: cuda_oom, cause oom, to blame: code" ]
    [[ ${lines[1]} == '  out of GPU memory: torch.OutOfMemoryError: CUDA out of memory.'* ]]
    [ "${lines[3]}" = "$PHASED_HOME/other: no known failure" ]

    echo 'well: {pattern: all is well, blame: node}' >"$PHASED_HOME/failures.yaml"
    run phasectl failures "$PHASED_HOME/other" "$PHASED_HOME/none"
    [ "$status" -eq 1 ]
    [[ $output == *"$PHASED_HOME/failures.yaml:1:37: well.blame: node is only for the causes"* ]]
    [[ $output == *"cannot read $PHASED_HOME/none: No such file or directory"* ]]
    echo 'well: {pattern: all is well}' >"$PHASED_HOME/failures.yaml"
    run phasectl failures "$PHASED_HOME/other"
    [ "$status" -eq 0 ]
    [ "${lines[0]}" = "$PHASED_HOME/other: well, cause exit, to blame: none" ]
}

@test "failures searches the end of a log that comes through a pipe" {
    torch_oom >"$PHASED_HOME/log"
    run phasectl failures <(yes | head -c 700000; cat "$PHASED_HOME/log") <(:)
    [ "$status" -eq 0 ]
    [[ ${lines[0]} == *': cuda_oom, cause oom, to blame: code' ]]
    [[ ${lines[3]} == *': no known failure' ]]
    run phasectl failures "$PHASED_HOME"
    [ "$status" -eq 1 ]
    [[ $output == *"cannot read $PHASED_HOME: "* ]]
}

@test "the user's failures.yaml is read when it changes, and mistakes in it are reported" {
    phasectl daemon start
    cat >"$PHASED_HOME/failures.yaml" <<'YAML'
loader:
  title: the loader is stuck
  pattern: 'loader \d+ is stuck'
  cause: nan # any cause, so that it is seen to follow
  advice: fewer workers
broken: {pattern: 'x('}
YAML
    workflow=$(failing 'nodes: 1, gpus: h100:1' node <<<'echo loader 7 is stuck; exit 1' | submit)
    [ "$(failed "$workflow")" = 'nan loader - it none -' ]
    [[ $(record "SELECT message FROM event WHERE type = 'warning'") == \
        "phased leaves out what is wrong in failures.yaml: $PHASED_HOME/failures.yaml:6:"*': broken.pattern: the pattern is wrong: missing closing parenthesis' ]]

    echo 'not: [yaml' >"$PHASED_HOME/failures.yaml"
    workflow=$(failing 'nodes: 1, gpus: h100:1' node <<<'echo OSError: [Errno 122] Disk quota exceeded; exit 1' | submit)
    [ "$(failed "$workflow")" = 'exit disk_quota - it code -' ]
    grep -q "failures.yaml:2:" "$PHASED_HOME/phased.log"

    # The daemon also starts with the wrong file, and reads it when it is repaired.
    phasectl daemon stop
    phasectl daemon start
    echo 'mine: {pattern: loader, cause: oom}' >"$PHASED_HOME/failures.yaml"
    workflow=$(failing 'nodes: 1, gpus: h100:1' node <<<'echo loader; exit 1' | submit)
    [ "$(failed "$workflow")" = 'oom mine - it none -' ]
}
