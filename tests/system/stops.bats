#!/usr/bin/env bats
# Programs that a phase starts with its own srun save at each kind of stop, as under plain sbatch.

load phased.bash

setup_file() { sandbox_up 2; }
teardown_file() { sandbox_down; }
setup() {
    home_up
    mkdir -p "$PHASED_HOME/work"
    cd "$PHASED_HOME/work"
    write_program >train.py
    write_launcher >launcher
    declare -gA workflows=()
    minutes=20 # the time limit
}
teardown() {
    scontrol update PartitionName=preempt GraceTime=5 || true
    cd /
    home_down
}

# Counts from its last save. At the stop signal it takes 2 s to save, and prints how often it came.
write_program() {
    cat <<'PROGRAM'
import os, signal, subprocess, sys, time
words = [word for word in sys.argv[1:] if word != "--beside"]
if len(words) + 1 < len(sys.argv):
    subprocess.Popen(["srun", "--overlap", "sleep", "1000"])
name = os.environ["PHASED_OUT"] + "/" + (words[0] if words else os.environ["SLURM_PROCID"])
told = []
signal.signal(getattr(signal, "SIG" + os.environ.get("PHASED_STOP_SIGNAL", "TERM")), lambda *_: told.append(1))
step = int(open(name + ".saved").read()) if os.path.exists(name + ".saved") else 0
print(step, file=open(name + ".began", "a"))
while not told and not os.path.exists(name + ".enough"):
    step += 1
    if name.endswith("/0"):
        print(f"step={step} loss=1", flush=True)
    time.sleep(0.1)
if told:
    end = time.monotonic() + 2
    while time.monotonic() < end:
        time.sleep(0.1)
    open(name + ".new", "w").write(str(step))
    os.rename(name + ".new", name + ".saved")
    print(len(told), file=open(name + ".told", "a"))
PROGRAM
}

# Like torchrun: it starts programs in their own sessions, and passes the signal on to them.
write_launcher() {
    cat <<'LAUNCHER'
#!/bin/bash
for i in 0 1; do
    setsid python3 train.py $((2 * SLURM_PROCID + i)) &
    pids+=("$!")
done
trap 'kill -TERM "${pids[@]}"' TERM
wait
wait
LAUNCHER
}

# script OPTION... <BODY: an sbatch script with these options and this body.
script() {
    printf '#!/bin/bash\n'
    printf '#SBATCH %s\n' --job-name=train --time=$minutes --gres=gpu:h100:1 "$@"
    cat
}

# The programs of each shape.
declare -gA programs=([plain]='0 1' [steps]=0 [nested]=0 [timed]=0 [trap]=0 [beside]=0 [phase]=0 [launcher]='0 1 2 3')

shape() {
    case $1 in
    plain) script --nodes=2 --ntasks-per-node=1 <<<'srun python3 train.py' ;;
    steps)
        script --nodes=1 --ntasks=1 <<'BODY'
srun true
srun python3 train.py
srun touch "$PHASED_OUT/after"
BODY
        ;;
    nested) script --nodes=1 --ntasks=1 <<<"bash -c 'bash -c \"srun python3 train.py; true\"; true'" ;;
    timed) script --nodes=1 --ntasks=1 <<<'timeout 1000 srun python3 train.py' ;;
    trap) # srun kills its program when it gets TERM
        script --nodes=1 --ntasks=1 <<'BODY'
cat >"$PHASED_OUT/train.sh" <<'INNER'
#!/bin/bash
trap 'kill -TERM "$pid"' TERM
srun python3 train.py & pid=$!
wait "$pid"
INNER
chmod +x "$PHASED_OUT/train.sh"
trap 'kill -TERM "$pid"' TERM
"$PHASED_OUT/train.sh" & pid=$!
wait "$pid"
BODY
        ;;
    beside) # the program itself catches the signal, and has an srun of its own
        script --nodes=1 --ntasks=1 <<'BODY'
export SLURM_PROCID=0
exec python3 train.py --beside
BODY
        ;;
    phase)
        cat <<SPEC
name: train
phases:
  train:
    resources: {nodes: 1, gpus: h100:1, time: ${minutes}m}
    launch: node
    run: srun --overlap --nodes=1 --ntasks=1 python3 train.py
    progress: {step: step, total: 100000}
    checkpoint: {path: "\$PHASED_OUT/{step}.saved", save_time: 10s}
SPEC
        ;;
    launcher) script --nodes=2 --ntasks-per-node=1 <<<'srun bash launcher' ;;
    esac
}

out() {
    echo "$PHASED_HOME/runs/${workflows[$1]}/train/out"
}

# has_lines SHAPE KIND N: each program of the shape has written at least N lines.
has_lines() {
    local program
    for program in ${programs[$1]}; do
        [ "$(line_count "$(out "$1")/$program.$2")" -ge "$3" ] || return 1
    done
}

# All shapes run side by side.
start_all() {
    local shape file
    phasectl daemon start
    for shape in "${!programs[@]}"; do
        file=$shape.sbatch
        [ "$shape" != phase ] || file=$shape.yaml
        shape "$shape" >"$file"
        workflows[$shape]=$(phasectl submit "$file" 2>/dev/null | grep -oE '[0-9]+' | head -n 1)
    done
    for shape in "${!programs[@]}"; do eventually 60 has_lines "$shape" began 1; done
}

# Every program had time to save, and got one signal. The programs of a launcher get one signal
# where Slurm signals only what it has started, but the sandbox's Slurm signals all processes.
all_have_saved() {
    local shape program
    for shape in "${!programs[@]}"; do
        eventually 60 has_lines "$shape" told "$1" || { echo "# $shape has not saved"; return 1; }
        [ "$shape" != launcher ] || continue
        for program in ${programs[$shape]}; do
            [ "$(sort -u "$(out "$shape")/$program.told")" = 1 ] || { echo "# $shape told twice"; return 1; }
        done
    done
}

# The next run of each program began where the last run has saved.
all_resume() {
    local shape program
    for shape in "${!programs[@]}"; do
        eventually 60 has_lines "$shape" began "$1" || { echo "# $shape has not resumed"; return 1; }
        for program in ${programs[$shape]}; do
            [ "$(tail -n 1 "$(out "$shape")/$program.began")" = "$(cat "$(out "$shape")/$program.saved")" ]
        done
    done
}

all_are() {
    local shape
    for shape in "${!programs[@]}"; do eventually 60 state "${workflows[$shape]}/train" "$1"; done
}

each() {
    local shape
    for shape in "${!programs[@]}"; do phasectl "$1" "${workflows[$shape]}/train"; done
}

@test "programs under srun save when they are preempted, and resume" {
    scontrol update PartitionName=preempt GraceTime=60 # at the end of a grace, Slurm signals again
    start_all
    srun -p prod -N 2 --gres=gpu:h100:8 sleep 1
    all_have_saved 1
    all_resume 2
}

@test "programs under srun save when they are held, and resume" {
    start_all
    each hold
    all_have_saved 1
    all_are held
    each release
    all_resume 2
}

@test "programs under srun save when they are cancelled" {
    start_all
    each cancel
    all_have_saved 1
    all_are cancelled
}

# Slurm signals only the batch script, some time before the limit. It looks every 30 s.
@test "programs under srun save at the time limit" {
    minutes=2 # to a lead that has begun with a much later limit, the signal means a preemption
    start_all
    # The time counts from now, so that a slow start does not matter.
    squeue -h -o %i | xargs -I JOB scontrol update JobId=JOB EndTime=now+60
    for shape in "${!programs[@]}"; do eventually 180 has_lines "$shape" told 1; done
    all_have_saved 1
    eventually 60 record_says "SELECT count(*) FROM run WHERE attempt = 1 AND outcome = 'timed_out'" ${#programs[@]}
}

# nothing_has VARIABLE=VALUE: no process has it in its environment.
nothing_has() { ! grep -qzsF "$1" /proc/[0-9]*/environ; }

@test "a program under srun that ignores its signal is killed on all nodes when its time is over" {
    phasectl daemon start
    script --nodes=2 --ntasks-per-node=1 >deaf.sbatch <<'BODY'
srun bash -c 'trap "" TERM; touch "$PHASED_OUT/$SLURM_PROCID"; while :; do sleep 0.1; done'
BODY
    workflows[deaf]=$(phasectl submit deaf.sbatch 2>/dev/null | grep -oE '[0-9]+' | head -n 1)
    eventually 60 test -e "$(out deaf)/0"
    eventually 60 test -e "$(out deaf)/1"
    phasectl cancel "${workflows[deaf]}"
    eventually 60 state "${workflows[deaf]}" cancelled
    eventually 60 nothing_has "PHASED_OUT=$(out deaf)" # the kernel may still be ending them
}

@test "a program under srun saves when it is held, even if its environment is hidden" {
    phasectl daemon start
    cat >mute.yaml <<'SPEC'
name: mute
phases:
  train:
    resources: {nodes: 1, gpus: h100:1, time: 10m}
    launch: node
    run: srun --overlap --nodes=1 --ntasks=1 env -i "PHASED_OUT=$PHASED_OUT" python3 train.py 0
    checkpoint: {path: "$PHASED_OUT/{step}.saved", save_time: 90s}
SPEC
    workflows[mute]=$(phasectl submit mute.yaml | grep -oE '[0-9]+' | head -n 1)
    eventually 60 test -s "$(out mute)/0.began"
    phasectl hold "${workflows[mute]}/train"
    eventually 60 state "${workflows[mute]}/train" held # before its srun would be killed
    [ "$(cat "$(out mute)/0.told")" = 1 ]
}

@test "programs of a launcher under srun save at USR1, which the launcher does not know" {
    phasectl daemon start
    cat >launch.py <<'LAUNCHER'
import subprocess
programs = [subprocess.Popen(["timeout", "1000", "python3", "train.py", name], start_new_session=True) for name in "01"]
for program in programs:
    program.wait()
LAUNCHER
    cat >users.yaml <<'SPEC'
name: users
phases:
  train:
    resources: {nodes: 1, gpus: h100:1, time: 30m}
    launch: node
    run: srun --overlap --nodes=1 --ntasks=1 python3 launch.py
    checkpoint: {path: "$PHASED_OUT/{step}.saved", stop_signal: USR1, save_time: 10m}
SPEC
    workflows[users]=$(phasectl submit users.yaml | grep -oE '[0-9]+' | head -n 1)
    for program in 0 1; do eventually 60 test -s "$(out users)/$program.began"; done
    phasectl hold "${workflows[users]}/train"
    eventually 60 state "${workflows[users]}/train" held
    [ "$(cat "$(out users)"/?.told | xargs)" = '1 1' ]
}

@test "holding a phase leaves the srun of a phase beside it alone" {
    phasectl daemon start
    cat >pair.yaml <<'SPEC'
name: pair
defaults:
  launch: node
  run: srun --overlap --nodes=1 --ntasks=1 python3 train.py
  checkpoint: {path: "$PHASED_OUT/{step}.saved", save_time: 10s}
phases:
  left:
    resources: {nodes: 1, gpus: h100:1, time: 30m}
  right:
    colocate: left
SPEC
    workflow=$(phasectl submit pair.yaml | grep -oE '[0-9]+' | head -n 1)
    runs=$PHASED_HOME/runs/$workflow
    eventually 60 test -s "$runs/left/out/0.began"
    eventually 60 test -s "$runs/right/out/0.began"
    phasectl hold "$workflow/left"
    eventually 60 test -s "$runs/left/out/0.told"
    eventually 60 state "$workflow/left" held
    touch "$runs/right/out/0.enough"
    eventually 60 state "$workflow/right" succeeded
    [ ! -e "$runs/right/out/0.told" ]
}
