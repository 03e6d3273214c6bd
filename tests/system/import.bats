#!/usr/bin/env bats
# sbatch scripts do the same under phased as under sbatch, and mistakes in a script are reported.

load phased.bash
load training.bash

setup_file() { sandbox_up 2; }
teardown_file() { sandbox_down; }
setup() { home_up; }
teardown() { home_down; }

# script INTERPRETER OPTION... <BODY: writes $PHASED_HOME/work/train.sh.
script() {
    mkdir -p "$PHASED_HOME/work/inner"
    {
        echo "#!$1"
        printf '#SBATCH %s\n' "${@:2}"
        cat
    } >"$PHASED_HOME/work/train.sh"
}

# What the script prints when sbatch starts it, and when phased starts it. When srun itself reports an
# error, the node's Slurm lost the job step. That says nothing of the script, so sbatch starts it again.
# printed_by_sbatch [OPTION...]
printed_by_sbatch() {
    local attempt
    for attempt in 1 2 3; do
        (cd "$PHASED_HOME/work" &&
            timeout 120 sbatch --wait -o "$PHASED_HOME/printed" "$@" train.sh >/dev/null)
        grep '^srun: error:' "$PHASED_HOME/printed" >&2 || break
        echo "attempt $attempt: srun failed under sbatch" >&2
        tail -n 30 "$SANDBOX"/log/n?.log >&2
    done
    without_waits <"$PHASED_HOME/printed"
}

# On a busy machine srun waits, and prints that it waits.
without_waits() {
    grep -vE '^srun: (Job [0-9]+ step creation temporarily disabled|Step created)'
}

printed_by_phased() {
    local workflow
    workflow=$(cd "$PHASED_HOME/work" && phasectl submit train.sh 2>/dev/null | grep -oE '[0-9]+' | head -n 1)
    eventually 60 state "$workflow" succeeded
    phasectl logs "$workflow" | cut -d' ' -f2- | without_waits
}

@test "a script on two nodes prints the same as under sbatch, and so does srun inside it" {
    phasectl daemon start
    script /bin/bash '--nodes=2 --ntasks-per-node=2 --cpus-per-task=1 --time=10' '--export=ALL,SEED=7' <<'BODY'
echo "$0" | grep -c . ; pwd; echo "$SLURM_SUBMIT_DIR $SLURM_NNODES $SLURM_JOB_NODELIST seed $SEED"
false # and goes on
echo "${unset_variable}" | true
env | grep -E '^SLURM_(N|TASKS|CPUS|STEP|CPU_BIND)' | sort
srun sh -c 'echo "$SLURM_PROCID/$SLURM_NTASKS $SLURMD_NODENAME $SLURM_LOCALID $SLURM_CPUS_PER_TASK"' | sort
srun -N 1 -n 1 pwd
BODY
    # 26.05 asks for the login environment where --export names a variable, and that needs a slurmd
    # that runs as root. ALL does not ask for it.
    # 26.05 also gives the batch script the id of its own job step, which no script uses.
    under_sbatch=$(SEED=7 printed_by_sbatch --export=ALL | grep -vE '^SLURM_STEP_?ID=-5$')
    [[ $under_sbatch == *'3/4 n2 1 1'* ]]
    diff <(echo "$under_sbatch") <(printed_by_phased)
}

# asks_like_sbatch OPTION...: the variables are the same, and srun does the same with them.
asks_like_sbatch() {
    script /bin/bash --time=10 "$@" <<'BODY'
env | grep -E '^SLURM_(GPUS|N|TASKS|CPUS|MEM|JOB_NAME|RESTART|THREADS)' | grep -v NODELIST | sort
echo "$SLURM_GPUS $CUDA_VISIBLE_DEVICES"
scontrol show job "$SLURM_JOB_ID" | grep -oE 'NumCPUs=[0-9]+'
srun sh -c 'echo "$SLURM_PROCID/$SLURM_NTASKS $SLURM_LOCALID $(echo "$CUDA_VISIBLE_DEVICES" | tr , "\n" | wc -w)"' 2>&1 | sort
srun sh -c 'echo "$CUDA_VISIBLE_DEVICES"' 2>told | sort -u | wc -l
grep '^srun: error:' told || true
BODY
    under_sbatch=$(printed_by_sbatch)
    local under_phased
    under_phased=$(printed_by_phased)
    # Since 24.11 sbatch sets SLURM_TRES_PER_TASK instead. srun accepts both.
    [[ $under_sbatch = *SLURM_GPUS_PER_TASK* ]] ||
        under_phased=$(sed '/^SLURM_GPUS_PER_TASK=/d' <<<"$under_phased")
    diff <(echo "$under_sbatch") <(echo "$under_phased")
}

@test "a script sees the same GPUs and tasks as under sbatch, however it asks for them" {
    phasectl daemon start
    asks_like_sbatch '--nodes=1 --ntasks=4 --gpus-per-task=1'
    [[ $under_sbatch == *'3/4 3 1'*4 ]] # a GPU of its own for each
    asks_like_sbatch '--nodes=1 --gpus-per-node=4 --cpus-per-gpu=1 --mem-per-gpu=10M -J "a name"'
    [[ $under_sbatch == *'SLURM_MEM_PER_GPU=10'* ]]
    asks_like_sbatch '--nodes=2 --cpus-per-task=2'
    [[ $under_sbatch != *SLURM_NTASKS* && $under_sbatch == *'1/2 0 0'* ]]
    asks_like_sbatch '--nodes=1 --gpus=h100:2'
    [[ $under_sbatch == *'SLURM_GPUS=h100:2'* ]]
    asks_like_sbatch --nodes=1 --exclusive
    [[ $under_sbatch == *'SLURM_GPUS_ON_NODE=8'*' 0,1,2,3,4,5,6,7'* ]]
}

@test "srun can use all GPUs of several nodes, and the script knows their number" {
    phasectl daemon start
    script /bin/bash --time=10 --nodes=2 --gpus=16 --ntasks-per-node=1 <<'BODY'
echo "$SLURM_GPUS"
srun sh -c 'echo "$SLURM_PROCID $CUDA_VISIBLE_DEVICES"' | sort
srun --nodes=1 --ntasks=1 --gpus=4 sh -c 'echo "$CUDA_VISIBLE_DEVICES"'
BODY
    under_sbatch=$(printed_by_sbatch)
    [[ $under_sbatch == *'1 0,1,2,3,4,5,6,7'* ]]
    diff <(echo "$under_sbatch") <(printed_by_phased)
}

@test "a script that requeues itself and prints no step begins again each time in the same job" {
    phasectl daemon start
    script /bin/bash --time=10 <<'BODY'
echo "${SLURM_RESTART_COUNT-none}" >>runs
[ "${SLURM_RESTART_COUNT:-0}" -gt 3 ] || { scontrol requeue "$SLURM_JOB_ID"; sleep 60; }
BODY
    cd "$PHASED_HOME/work"
    phasectl submit train.sh
    eventually 180 state 1 succeeded
    diff <(printf '%s\n' none 1 2 3 4) runs
    [ "$(record 'SELECT count(*) FROM job')" = 1 ]
}

@test "a script that requeues itself and exits is not finished, whether Slurm or its exit is faster" {
    phasectl daemon start
    mkdir "$PHASED_HOME/work"
    cd "$PHASED_HOME/work"
    for run in 1 2 3 4 5 6; do
        script /bin/bash --time=10 <<BODY
echo "\$SLURM_JOB_ID \${SLURM_RESTART_COUNT-none}" >>runs.$run
[ "\${SLURM_RESTART_COUNT:-0}" -gt 0 ] || { scontrol requeue "\$SLURM_JOB_ID"; exit $((run % 2)); }
BODY
        phasectl submit train.sh
    done
    for run in 1 2 3 4 5 6; do
        eventually 90 state "$run" succeeded
        cut -d' ' -f2 "runs.$run" | diff <(printf 'none\n1\n') -
        [ "$(phasectl runs "$run" --json | gojq -c '[.[].outcome] | sort')" = '["preempted","succeeded"]' ]
    done
}

@test "the variables that sbatch reads count more than the lines of a script" {
    phasectl daemon start
    script /bin/bash --time=10 --partition=preempt '-o %j.out' <<<'echo "in $SLURM_JOB_PARTITION"'
    cd "$PHASED_HOME/work"
    SBATCH_PARTITION=prod phasectl submit train.sh 2>said
    eventually 60 state 1 succeeded
    phasectl logs 1 | grep 'in prod$'
    grep 'in prod$' ./*.out
    SBATCH_ARRAY_INX=3-1 run phasectl submit train.sh
    [[ $status = 1 && $output == *"train.sh: SBATCH_ARRAY_INX: '3-1' is not a list of tasks"* ]]
}

@test "the interpreter, the folder and the input of a script are the same as under sbatch" {
    phasectl daemon start
    script '/usr/bin/env python3' '-D inner -i ../train.sh -t 10 -J "a name"' <<'BODY'
import os, sys
print(os.getcwd(), os.environ["SLURM_SUBMIT_DIR"], os.environ["SLURM_JOB_NAME"])
print(len(sys.stdin.read()), 'it\'s', "$HOME")
BODY
    under_sbatch=$(printed_by_sbatch)
    [[ $under_sbatch == *work/inner*'a name'* ]]
    diff <(echo "$under_sbatch") <(printed_by_phased)
}

@test "a script that is preempted runs again, and resumes from its own checkpoint" {
    phasectl daemon start
    reference_up
    script /bin/bash '--partition=preempt --gres=gpu:h100:1 --time=30' <<BODY
echo "\$SLURM_JOB_ID" >>executed
last=\$(ls -v step_*.ckpt 2>/dev/null | tail -n 1)
exec $TRAINING --out . \${last:+--resume "\$last"} --iterations 150 --save-every 20 \
    --wait-at 110
BODY
    workflow=$(cd "$PHASED_HOME/work" && phasectl submit train.sh | grep -oE '[0-9]+' | head -n 1)
    eventually 60 test -e "$PHASED_HOME/work/step_000100.ckpt"
    preempt
    eventually 120 state "$workflow" succeeded
    [ "$(wc -l <"$PHASED_HOME/work/executed")" -ge 2 ]
    phasectl logs "$workflow" | grep 'resumed at step 1[01][0-9]'
    cmp "$REFERENCE/step_000150.ckpt" "$PHASED_HOME/work/step_000150.ckpt"
}

@test "a script gets its arguments, and messages of bash have the line numbers of the script" {
    phasectl daemon start
    for interpreter in /bin/bash /bin/sh; do
        script "$interpreter" --time=10 --nodes=2 <<'BODY'
printf '%s %s' "$#" "$2" | tr '\n' _; echo
no_such_command
BODY
        cd "$PHASED_HOME/work"
        workflow=$(phasectl submit train.sh -- --lr $'3e-4 it\'s\n\\two' | grep -oE '[0-9]+' | head -n 1)
        eventually 60 state "$workflow" held
        phasectl logs "$workflow" | grep -F "2 3e-4 it's_\\two"
        phasectl logs "$workflow" | grep -E '(line 5|: 5): no_such_command'
    done
    run phasectl submit train.sh train.sh -- x
    [[ $status = 2 && $output == *'arguments for one script, not for 2'* ]]
    echo 'phases: {}' >flow.yaml
    run phasectl submit flow.yaml -- x
    [[ $status = 1 && $output == *'flow.yaml is a workflow and takes no arguments'* ]]
    script /bin/bash --time=10 <<<$'if true; then\necho'
    run phasectl check train.sh
    [[ $status = 1 && $output == *'train.sh:4:1: phases.train.run: bash: syntax error'* ]]
}

@test "messages about the text of a script have its line numbers, whichever verb finds them" {
    phasectl daemon start
    script /bin/bash --time=10 --comment={1..11} <<<$'echo\necho "$PHASED_FOO"'
    cd "$PHASED_HOME/work"
    for verb in check plan submit; do
        run phasectl "$verb" train.sh
        [[ $status = 0 && $output == *'train.sh:15:1: warning: phases.train.run: phased sets no variable $PHASED_FOO'* ]]
        [[ $output != *'as a workflow:'* ]]
    done
    phasectl submit --json train.sh | gojq -e '.workflows[0].warnings == [.workflows[0].warnings[0] |
        select(.file == "train.sh" and .line == 15 and .column == 1)]'
    phasectl plan --json train.sh | gojq -e '.warnings[0] | .file == "train.sh" and .line == 15'
    script /bin/bash --time=10 <<<$'echo\necho $PHASED_OT'
    cp train.sh other.sh
    sed -i 2d train.sh
    for verb in plan 'submit train.sh'; do
        run phasectl $verb other.sh
        [[ $status = 1 && $output == *'other.sh:4:1: phases.other.run: nothing defines $PHASED_OT '* ]]
    done
    [[ $output == *'train.sh:3:1: phases.train.run: nothing defines $PHASED_OT '* ]]
    run phasectl submit --set nothing=1 train.sh
    [[ $status = 1 && $output == *$'\ntrain.sh: '* && $output != *'as a workflow:'* ]]
}

@test "a script is checked, planned, imported and rehearsed with its arguments" {
    phasectl daemon start
    script /bin/bash --time=10 <<<'echo "got $#: $2"'
    cd "$PHASED_HOME/work"
    words=(-- --lr '3e-4 x')
    phasectl check --print train.sh "${words[@]}" | gojq -r '.phases[0].run' | grep -F "set -- '--lr' '3e-4 x'"
    phasectl plan train.sh "${words[@]}" | grep train
    phasectl import --output flow.yaml train.sh "${words[@]}"
    phasectl rehearse train.sh "${words[@]}"
    phasectl logs 1 | grep -F 'got 2: 3e-4 x'
    phasectl submit flow.yaml
    eventually 60 state 2 succeeded
    phasectl logs 2 | grep -F 'got 2: 3e-4 x'
    for verb in check plan rehearse; do
        run phasectl "$verb" flow.yaml -- x
        [[ $status = 1 && $output == *'flow.yaml is a workflow and takes no arguments'* ]]
    done
    run phasectl import train.sh train.sh -- x
    [[ $status = 2 && $output == *'arguments for one script, not for 2'* ]]
}

@test "a script that reaches its time limit ends there, as under sbatch, and a person may run it again" {
    phasectl daemon start
    script /bin/bash --time=1 <<'BODY'
for step in $(seq 100000); do echo "step=$step loss=1"; sleep 0.2; done
BODY
    workflow=$(cd "$PHASED_HOME/work" && phasectl submit train.sh | grep -oE '[0-9]+' | head -n 1)
    eventually 120 state "$workflow/train" held
    [ "$(outcomes)" = timed_out ]
    # The script was stopped ten seconds before the end, and not when Slurm sent its signal.
    [ "$(record 'SELECT run.ended - job.started >= 48000 FROM run JOIN job')" = 1 ]
    run phasectl why "$workflow"
    advice='submit it again with a longer time or with `checkpoint`; retry only if the script resumes by itself'
    [[ $output == *"timed out at step "*" without a checkpoint: $advice"* ]]
    [[ $output == *"phasectl retry $workflow/train"* ]]
    phasectl cancel "$workflow"
}

@test "secrets of --export stand nowhere in the record" {
    phasectl daemon start
    script /bin/bash --time=10 <<<'[ -z "$SECOND_TOKEN" ] || echo "$SECOND_TOKEN" | md5sum >token'
    cd "$PHASED_HOME/work"
    SBATCH_EXPORT=ALL,HF_TOKEN=hf_abcdef123 phasectl submit train.sh
    phasectl submit --export='ALL,SECOND_TOKEN=hf_ab$$def$456' train.sh
    eventually 60 state 2 succeeded
    [ "$(cat token)" = "$(echo 'hf_ab$$def$456' | md5sum)" ]
    ! grep -aqE 'hf_ab' "$PHASED_HOME"/phased.db*
}

@test "import makes one workflow of several scripts, and each script runs after the script before it" {
    phasectl daemon start
    mkdir "$PHASED_HOME/work"
    cd "$PHASED_HOME/work"
    printf '#!/bin/sh\n#SBATCH -t 10 -J data\necho 42 >data\n' >1.sh
    printf '#!/bin/sh\n#SBATCH -t 10 -J train --dependency=afterok:DATA\ncp data model\n' >2.sh
    phasectl import --output both.yaml 1.sh 2.sh
    run phasectl import --output both.yaml 1.sh
    [ "$status" = 1 ]
    [[ $output == *'both.yaml exists already'* ]]
    phasectl submit both.yaml
    eventually 60 state 1 succeeded
    [ "$(cat model)" = 42 ]
}

@test "mistakes in a script are reported with their lines, and nothing is submitted" {
    phasectl daemon start
    script /bin/bash --array=9-1 --tim <<<'./train'
    run phasectl submit "$PHASED_HOME/work/train.sh"
    [ "$status" = 1 ]
    [[ $output == *"train.sh:2:9: array: '9-1' is not a list of tasks"* ]]
    [[ $output == *'train.sh: this script cannot become a workflow'* ]]
    [ "$(record 'SELECT count(*) FROM workflow')" = 0 ]
    script /bin/bash --time=10 --hold <<<'./train'
    phasectl check "$PHASED_HOME/work/train.sh" >"$PHASED_HOME/said" 2>&1
    grep -F 'train.sh:3:9: warning: hold: left out' "$PHASED_HOME/said"
    grep -F 'train.sh is good: 1 phase' "$PHASED_HOME/said"
    printf '#SBATCH --time=10\ntrue\n' >"$PHASED_HOME/work/train.sh"
    run phasectl submit "$PHASED_HOME/work/train.sh"
    [[ $status = 1 && $output == *'train.sh:1:1: not a batch script: its first line must begin with #!'* ]]
}

# --- Tests that change the sandbox ---------------------------------------------------------------

# Whether the nodes have read slurm.conf again, so that jobs have what TaskProlog sets.
has_scratch() {
    [ "$(srun -Q -w "$1" sh -c 'echo "$JOBSCRATCH"')" ]
}

@test "what TaskProlog sets for each job reaches the ranks, and env of the phase counts more" {
    cat >"$SANDBOX/task_prolog" <<PROLOG
#!/bin/sh
echo "export TMPDIR=$SANDBOX/scratch"
echo "export JOBSCRATCH=/scratch/\$SLURM_JOB_ID"
echo "export UCX_NET_DEVICES=mlx5_0:1"
echo "export PATH=\$PATH:/site"
PROLOG
    chmod +x "$SANDBOX/task_prolog"
    echo "TaskProlog=$SANDBOX/task_prolog" >>"$SLURM_CONF"
    scontrol reconfigure
    for node in n1 n2; do eventually 60 has_scratch "$node"; done
    phasectl daemon start
    export TMPDIR=$PHASED_HOME
    script /bin/bash --time=10 <<'BODY'
echo "$TMPDIR ${JOBSCRATCH%"$SLURM_JOB_ID"} $UCX_NET_DEVICES $ENVIRONMENT ${PATH##*:/site}"
BODY
    under_sbatch=$(printed_by_sbatch)
    [[ $under_sbatch == "$SANDBOX/scratch /scratch/ mlx5_0:1 BATCH"* ]]
    diff <(echo "$under_sbatch") <(printed_by_phased | sed 's|:[^ ]*/bin$||')
    workflow=$(submit <<'SPEC'
name: chosen
phases:
  train:
    resources: {time: 10m}
    env: {UCX_NET_DEVICES: "mlx5_1:1"}
    run: echo "$UCX_NET_DEVICES $TMPDIR"
SPEC
    )
    eventually 60 state "$workflow" succeeded
    phasectl logs "$workflow" | grep "mlx5_1:1 $SANDBOX/scratch\$"
}

@test "with one thread of each core, a script gets the same CPUs and tasks as under sbatch" {
    sed -i 's/CoresPerSocket=16 ThreadsPerCore=1/CoresPerSocket=8 ThreadsPerCore=2/' "$SLURM_CONF"
    scontrol reconfigure
    phasectl daemon start
    asks_like_sbatch '--nodes=1 --ntasks-per-node=2 --cpus-per-task=4 --hint=nomultithread --gres=gpu:h100:2'
    [[ $under_sbatch == *SLURM_THREADS_PER_CORE=1*NumCPUs=16* ]]
    asks_like_sbatch --cpus-per-task=3 --threads-per-core=1
    [[ $under_sbatch == *SLURM_CPUS_ON_NODE=3*SLURM_TASKS_PER_NODE=1* && $under_sbatch != *SLURM_NTASKS* ]]
    asks_like_sbatch --nodes=1 --cpus-per-task=3 --threads-per-core=2
    [[ $under_sbatch == *SLURM_NTASKS=2* ]]
    asks_like_sbatch --nodes=2 --hint=memory_bound
    [[ $under_sbatch == *SLURM_CPUS_ON_NODE=1*SLURM_NTASKS=2* ]]
}
