#!/usr/bin/env bats
# The habits of people who know sbatch: options before a script, arguments after it, job arrays, the
# files of --output and --error, and --signal.

load phased.bash

setup_file() { sandbox_up 2; }
teardown_file() { sandbox_down; }
setup() {
    home_up
    mkdir "$PHASED_HOME/work"
    cd "$PHASED_HOME/work"
    phasectl daemon start
}
teardown() { home_down; }

# script OPTIONS <BODY: writes train.sbatch.
script() {
    printf '#!/bin/bash\n#SBATCH --time=10 --job-name=train %s\n' "$1" >train.sbatch
    cat >>train.sbatch
}

# submitted WORD...: prints the number of the workflow.
submitted() {
    phasectl submit "$@" 2>said | grep -oE '[0-9]+' | head -n 1
}

@test "options before a script override its lines, and the words after it are its arguments" {
    script '--partition=preempt --nodes=1' <<'BODY'
echo "$SLURM_JOB_PARTITION $SLURM_NNODES $#: $1 $2"
[ "${SLURM_RESTART_COUNT:-0}" -gt 0 ] || { scontrol requeue "$SLURM_JOB_ID"; sleep 60; }
BODY
    SBATCH_PARTITION=preempt SBATCH_ACCOUNT= submitted --nodes 2 --partition=prod train.sbatch --lr "it's \$1 \"two\""
    eventually 120 state 1 succeeded
    [ "$(record 'SELECT count(*) FROM run')" = 2 ]
    for run in 1 2; do
        phasectl logs "1/train#$run" | grep -F "prod 2 2: --lr it's \$1 \"two\""
    done
}

@test "what a script prints right before its end is in the log" {
    script --nodes=1 <<<'echo "got $*"'
    for i in {1..12}; do submitted train.sbatch "$i"; done
    for i in {1..12}; do
        eventually 120 state "$i" succeeded
        phasectl logs "$i/train" | grep -F "got $i"
    done
}

@test "a word that could be meant for phasectl or for the script is refused" {
    script --nodes=1 <<<'echo "got $*"'
    run phasectl submit train.sbatch --lr 1 --watch
    [[ $status = 2 && $output == *"'--watch' after '--lr' may be meant for train.sbatch"* ]]
    run phasectl submit --nodes 1 : --nodes 2 train.sbatch
    [[ $status = 2 && $output == *'heterogeneous job'* ]]
    run phasectl submit --nodes 2 train.sbatch train.sbatch
    [[ $status = 2 && $output == *"options of sbatch such as '--nodes' are for one script, not for 2"* ]]
    two_phases >flow.yaml
    run phasectl submit --nodes 2 flow.yaml
    [[ $status = 1 && $output == *'flow.yaml is a workflow and takes no options of sbatch'* ]]
    run phasectl submit train.sbatch x -- y
    [[ $status = 2 && $output == *"'x' would be an argument of train.sbatch"* ]]
    [ "$(record 'SELECT count(*) FROM workflow')" = 0 ]
    phasectl submit train.sbatch --watch | grep succeeded
    phasectl submit --watch train.sbatch -- --watch x | grep succeeded
    phasectl logs 2 | grep -F 'got --watch x'
}

# What each task prints when sbatch starts the array, and when phased does.
@test "a job array runs as a matrix: each task has the variables that sbatch gives it" {
    script --array=0-30:10%2 <<'BODY'
env | grep -E '^SLURM_ARRAY_' | grep -v JOB_ID | sort
echo "$SLURM_ARRAY_JOB_ID" >"of.$SLURM_ARRAY_TASK_ID"
BODY
    timeout 600 sbatch --wait -o 'by_sbatch.%a' train.sbatch >/dev/null
    [ "$(cat of.* | sort -u | wc -l)" = 1 ]
    rm of.*
    workflow=$(submitted train.sbatch)
    eventually 120 state 1 succeeded
    # One number for all tasks: the job of the task that began first.
    [ "$(cat of.* | sort -u | wc -l)" = 1 ]
    record 'SELECT slurm_id FROM job' | grep -x "$(cat of.* | sort -u)"
    member=0
    for task in 0 10 20 30; do
        member=$((member + 1))
        diff "by_sbatch.$task" <(phasectl logs "1/train.$member" | cut -d' ' -f2-)
        diff "by_sbatch.$task" "slurm-$(cat "of.$task")_$task.out"
    done
    [ "$(record 'SELECT count(*) FROM job')" = 4 ] # each task has all of --time
    [ "$(record 'SELECT max((SELECT count(*) FROM run b WHERE b.started <= a.started
        AND b.ended > a.started)) FROM run a')" -le 2 ] # %2
    [ ! -e "$PHASED_HOME/runs/1/array.train.0" ]
}

@test "a task that is preempted or requeued keeps its index, and a list of tasks has gaps" {
    script --array=5,1 <<'BODY'
echo "$SLURM_ARRAY_TASK_ID $SLURM_ARRAY_TASK_STEP $SLURM_ARRAY_JOB_ID" >>"runs.$SLURM_ARRAY_TASK_ID"
[ "${SLURM_RESTART_COUNT:-0}" -gt 0 ] || { scontrol requeue "$SLURM_JOB_ID"; sleep 60; }
BODY
    workflow=$(submitted train.sbatch)
    eventually 120 state 1 succeeded
    [ "$(sort -u runs.1 runs.5 | cut -d' ' -f1,2)" = $'1 4\n5 4' ]
    [ "$(cat runs.1 runs.5 | wc -l)" = 4 ]
    [ "$(cut -d' ' -f3 runs.1 runs.5 | sort -u | wc -l)" = 1 ]
}

@test "the output stands in the file that the script names, over requeues and resumes" {
    script '--output=logs/%x-%j.%u.out' <<'BODY'
echo "restart ${SLURM_RESTART_COUNT:-0} of $SLURM_JOB_ID"
echo "to stderr" >&2
wait # for nothing
[ "${SLURM_RESTART_COUNT:-0}" -gt 0 ] || { scontrol requeue "$SLURM_JOB_ID"; sleep 60; }
BODY
    workflow=$(submitted train.sbatch)
    eventually 120 state 1 succeeded
    file=logs/train-$(record 'SELECT min(slurm_id) FROM job').$(id -un).out
    [ "$(grep -c '^restart' "$file")" = 2 ]
    [ "$(head -n 2 "$file" | cut -d' ' -f1,2)" = $'restart 0\nto stderr' ]
    [ "$(tail -n 1 "$file")" = 'to stderr' ]
    [ "$(phasectl logs '1/train#1' | cut -d' ' -f2-)" = "$(head -n 2 "$file")" ]
    [ ! -e slurm-1.out ]
}

@test "without --output the file is slurm-JOB.out, and a run in another job has a link to it" {
    script --partition=preempt <<'BODY'
echo "restart ${SLURM_RESTART_COUNT:-0}"
[ "${SLURM_RESTART_COUNT:-0}" -gt 0 ] || sleep 300
BODY
    workflow=$(submitted train.sbatch)
    eventually 60 bash -c 'grep -q restart slurm-*.out'
    first=$(record 'SELECT slurm_id FROM job')
    scancel "$first"
    eventually 60 state 1 held
    phasectl retry 1/train
    eventually 90 state 1 succeeded
    second=$(record 'SELECT max(slurm_id) FROM job')
    [ "$second" != "$first" ]
    [ "$(cat "slurm-$first.out")" = $'restart 0\nrestart 1' ]
    [ "$(readlink -f "slurm-$second.out")" = "$PWD/slurm-$first.out" ]
}

@test "errors have a file of their own, and all that is printed at the end arrives" {
    script '--output=all/o.%j --error=all/e.%j' <<'BODY'
seq 1000
seq 1000 2000 >&2
(sleep 0.2; echo late) &
echo done; exit 0
BODY
    submitted train.sbatch
    eventually 60 state 1 succeeded
    job=$(record 'SELECT slurm_id FROM job')
    diff <(seq 1000; echo done) <(grep -v late "all/o.$job")
    diff <(seq 1000 2000) "all/e.$job"
    [ "$(phasectl logs 1 | wc -l)" -ge 2002 ]
}

@test "a file that cannot be made is a warning, and the run goes on" {
    script '--output=/proc/none/x.out --error=.' <<<'echo fine; echo bad >&2'
    submitted train.sbatch
    eventually 60 state 1 succeeded
    phasectl logs 1 >log
    grep -F 'phased: warning: cannot write /proc/none/x.out' log
    grep -F "phased: warning: cannot write $PWD/." log
    grep -F fine log
    grep -F bad log
    script '--output=full' <<<'echo fine; seq 100000 | tail -n 1'
    ln -s /dev/full full
    submitted train.sbatch
    eventually 60 state 2 succeeded
    phasectl logs 2 | grep -F 'warning: cannot write'
}

@test "the output of a script that saves at a signal is kept to the end" {
    script '--output=%j.out --partition=preempt' <<'BODY'
trap 'echo saving; sleep 2; echo saved; exit 0' TERM
echo ready
while :; do sleep 0.1; done
BODY
    submitted train.sbatch
    eventually 60 bash -c 'grep -q ready *.out'
    phasectl cancel 1
    eventually 60 bash -c 'grep -q saved *.out'
}

# Sleeps in small pieces, because bash runs a trap only between commands.
@test "B: the shell alone gets the signal, that many seconds before the time limit" {
    script '--time=1 --signal=B:USR1@45' <<'BODY'
trap 'echo "shell at $(date +%s)"; asked=1' USR1
bash -c 'trap "echo child" USR1; for i in $(seq 300); do sleep 0.2; done' &
for i in $(seq 300); do sleep 0.2; [ -z "${asked:-}" ] || break; done
kill %1
exit 0
BODY
    submitted train.sbatch
    eventually 90 state 1 succeeded # as under sbatch, the script has ended well
    cat slurm-*.out
    at=$(($(grep -oE 'shell at [0-9]+' slurm-*.out | grep -oE '[0-9]+$') - $(record 'SELECT started / 1000 FROM job')))
    [ "$at" -ge 5 ]
    [ "$at" -le 40 ]
    ! grep child slurm-*.out
}

@test "the job steps of a script get the signal, and the shell does not" {
    script '--time=1 --nodes=2 --ntasks-per-node=1 --signal=USR2@20' <<'BODY'
trap 'echo shell' USR2
srun bash -c 'trap "echo rank $SLURM_PROCID; exit 0" USR2; for i in $(seq 300); do sleep 0.2; done'
echo "srun ended with $?"
BODY
    submitted train.sbatch
    eventually 90 state 1 succeeded
    [ "$(grep -h rank slurm-*.out | sort)" = $'rank 0\nrank 1' ]
    grep 'srun ended with 0' slurm-*.out
    ! grep -x shell slurm-*.out
}

@test "a script that saves and requeues itself at the signal goes on" {
    script '--time=1 --signal=B:USR1@50' <<'BODY'
trap 'echo saved >>state; scontrol requeue "$SLURM_JOB_ID"; sleep 60' USR1
[ ! -e state ] || exit 0
while :; do sleep 0.2; done
BODY
    submitted train.sbatch
    eventually 120 state 1 succeeded
    [ "$(cat state)" = saved ]
}

@test "the page on the options of sbatch has each option of the installed sbatch" {
    sbatch --help | grep -oE -- '--[a-z][a-z-]+' >options
    [ "$(sort -u options | wc -l)" -gt 90 ]
    # The help leaves some options out. A small system has no manual pages.
    if [ -e /usr/share/man/man1/sbatch.1.gz ]; then
        zcat /usr/share/man/man1/sbatch.1.gz |
            sed -nE 's/^(\\fB\\-.\\fR, )?\\fB(\\-\\-[a-z\\-]*[a-z])\\fR.*/\2/p' | tr -d '\\' >manual
        [ "$(sort -u manual | wc -l)" -gt 90 ]
        cat manual >>options
    fi
    sort -u -o options options
    grep -oE -- '`--[a-z-]+`' "$SRC/doc/sbatch.md" | tr -d '`' | sort -u >known
    # Second names, and words of the help that are not options of sbatch.
    comm -23 options known | grep -vxE -- '--(tasks-per-node|share|parsable-output)' >missing || true
    cat missing
    [ ! -s missing ]
}

@test "an option that cannot work is refused with file, line, option and reason, also before a script" {
    printf '#!/bin/bash\n#SBATCH --time=10\n#SBATCH --reboot -N1\n#SBATCH hetjob\n#SBATCH -N2 --uid=0\ntrue\n' >train.sbatch
    run phasectl submit --container=x train.sbatch
    [ "$status" = 1 ]
    [[ $output == *'train.sbatch:3:9: reboot: phased does not boot nodes'* ]]
    [[ $output == *'train.sbatch:4:9: a heterogeneous job'* ]]
    [[ $output == *'train.sbatch:5:13: uid: jobs run as the user who runs the daemon'* ]]
    [[ $output == *'train.sbatch: --container: start the container inside the script'* ]]
    [ "$(record 'SELECT count(*) FROM workflow')" = 0 ]
}
