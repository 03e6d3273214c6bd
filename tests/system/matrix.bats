#!/usr/bin/env bats
# Matrices: members with a job for each, or one after another in a job; the best member, out of
# memory, rungs, and all of this with a daemon that dies in the middle.

load phased.bash

setup_file() { sandbox_up 2; }
teardown_file() { sandbox_down; }
setup() { home_up; }
teardown() { home_down; }

# ladder MATRIX [LINES]: the throughput grows with the batch, and 192 does not fit. The next phase
# takes the params and files of the best member.
ladder() {
    cat <<SPEC
name: ladder
phases:
  ladder:
    resources: {nodes: 1, gpus: h100:1, time: 30m}
    linger: 60s
    preflight: off
    matrix: $1
    params: {MAX_STEPS: 5, double: =2 * BATCH_SIZE}
    run: |
      echo "\$BATCH_SIZE \$SLURM_JOB_ID \$MAX_STEPS \$PHASED_PHASE" >>"\$PHASED_OUT/../../executed"
      echo "\$BATCH_SIZE" >"\$PHASED_OUT/mine"
      if [ \$BATCH_SIZE -ge 192 ]; then
        echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB.' >&2
        exit 1
      fi
      for i in \$(seq \$((\${PHASED_RESUME_STEP:-0} + 1)) \$MAX_STEPS); do echo step=\$i speed=\$((BATCH_SIZE * 10 + i)) memory=\$((BATCH_SIZE / 2)); done
      echo \$MAX_STEPS >"\$PHASED_OUT/step_\$MAX_STEPS.ckpt"
    checkpoint: {path: "\$PHASED_OUT/step_{step}.ckpt", save_time: 10s}
    ${2:-best: {max: mean(speed)\}}
  train:
    after: ladder
    resources: {nodes: 1, gpus: h100:1, time: 5m} # Slurm may have shortened the job to ten minutes
    preflight: off
    params: {batch: =ladder.BATCH_SIZE, double: =ladder.double}
    run: echo "\$batch \$double \$(cat "\$PHASED_IN_ladder/mine") \$(basename "\$PHASED_CHECKPOINT_ladder")" >"\$PHASED_OUT/given"
SPEC
}

# The members with their states and standings: "1:succeeded:left 2:succeeded:best"
standings() {
    record "SELECT number || ':' || phase.state || ':' || ifnull(standing, '-') FROM member
              JOIN phase ON phase.id = member.phase WHERE workflow = ${1:-1} ORDER BY number" | paste -sd' '
}

given() {
    cat "$PHASED_HOME/runs/1/train/out/given"
}

jobs_of_members() {
    cut -d' ' -f2 "$PHASED_HOME/runs/1/executed" | sort -u | wc -l
}

@test "the next phase gets the params and files of the best member, and a member out of memory is out" {
    phasectl daemon start
    ladder '{BATCH_SIZE: [64, 128, 192]}' 'best: {max: mean(speed)}' | submit
    eventually 90 state 1 succeeded
    [ "$(standings)" = '1:succeeded:left 2:succeeded:best 3:failed:out' ]
    [ "$(given)" = '128 256 128 step_5.ckpt' ]
    [ "$(jobs_of_members)" = 3 ]
    [ "$(phasectl status 1/ladder --json | gojq -r '.best, .members[2].out_reason[:3], .members[0].value == 643')" = $'ladder.2\noom\ntrue' ]
    run phasectl status 1
    [[ $output != *ladder.1* ]]
    run phasectl status 1/ladder
    [[ $output == *"BATCH_SIZE=128"* ]]
    run phasectl status 1/ladder.2
    [[ $output == *"phase 1/ladder.2  succeeded"* ]]
}

@test "packed members run one after another in one allocation, even after a member that is out" {
    phasectl daemon start
    ladder '{BATCH_SIZE: [192, 64, 256, 128]}' 'best: {max: mean(speed), where: max(memory) < 60}
    pack: serial' | submit
    eventually 90 state 1 succeeded
    [ "$(cut -d' ' -f1 "$PHASED_HOME/runs/1/executed" | paste -sd' ')" = '192 64 256 128' ]
    [ "$(jobs_of_members)" = 1 ]
    [ "$(standings)" = '1:failed:out 2:succeeded:best 3:failed:out 4:succeeded:out' ]
    [ "$(phasectl status 1 --json | gojq -r '.phases[] | select(.phase == "ladder").promoted')" = in_place ]
    [ "$(record 'SELECT count(*) FROM job')" = 1 ] # what follows is in it, too
    [ "$(given)" = '64 128 64 step_5.ckpt' ]
    [ "$(phasectl runs 1/ladder --json | gojq length)" = 4 ] # those of its members
}

@test "rungs cut the worse members, the others resume from checkpoints, and the last rung gives the best" {
    phasectl daemon start
    ladder '{BATCH_SIZE: [16, 64, 32, 128, 192]}' 'best: {max: last(speed), rungs: {MAX_STEPS: [2, 4, 6]}, cut: 1/3}
    pack: {serial: 2}' | submit
    eventually 120 state 1 succeeded
    # Two thirds of the members stay: three of four, and two of three. The cut is rounded down.
    [ "$(standings)" = '1:succeeded:cut 2:succeeded:left 3:succeeded:cut 4:succeeded:best 5:failed:out' ]
    [ "$(grep '^128 ' "$PHASED_HOME/runs/1/executed" | cut -d' ' -f3 | paste -sd' ')" = '2 4 6' ]
    [ "$(record "SELECT ifnull(resume_step, 0) FROM run JOIN phase ON phase.id = run.phase
                 WHERE phase.name = 'ladder.4' ORDER BY attempt" | paste -sd' ')" = '-1 2 4' ]
    [ "$(given)" = '128 256 128 step_6.ckpt' ]
}

daemon_is_gone() {
    ! daemon_pid
}

# The third judgement is for the matrix: two members have a gate to pass, and the third is out.
decides_over_a_crash() {
    PHASED_CRASH=$1 phasectl daemon start
    ladder '{BATCH_SIZE: [64, 128, 192]}' 'best: {max: mean(speed)}' | submit
    eventually 60 daemon_is_gone
    phasectl daemon start
    eventually 90 state 1 succeeded
    [ "$(standings)" = '1:succeeded:left 2:succeeded:best 3:failed:out' ]
    [ "$(given)" = '128 256 128 step_5.ckpt' ]
    [ "$(record 'SELECT count(*) FROM choice')" = 1 ]
}

@test "a daemon that is killed before it records a matrix decision decides after its next start" {
    decides_over_a_crash judge:3:before
}

@test "a daemon that is killed just before a matrix decision is recorded decides the same again" {
    decides_over_a_crash judge:3:after
}

both_succeeded() {
    state 1 succeeded && state 2 succeeded
}

gone_or_done() {
    daemon_is_gone || both_succeeded
}

# The same end as in the test of rungs, where nobody kills the daemon. Each member has run once at
# each rung.
is_undisturbed() {
    [ "$(standings "$1")" = '1:succeeded:cut 2:succeeded:left 3:succeeded:cut 4:succeeded:best 5:failed:out' ]
    [ "$(cut -d' ' -f1,3 "$PHASED_HOME/runs/$1/executed" | sort -n -k2 -k1 | paste -sd,)" = \
        '16 2,32 2,64 2,128 2,192 2,32 4,64 4,128 4,64 6,128 6' ]
    [ "$(record "SELECT DISTINCT outcome || ':' || ifnull(cause, '-') FROM v_run WHERE workflow = $1 ORDER BY 1" |
        paste -sd' ')" = 'failed:oom succeeded:-' ]
    [ "$(cat "$PHASED_HOME/runs/$1/train/out/given")" = '128 256 128 step_6.ckpt' ]
    # No job was submitted twice.
    [ "$(cut -d' ' -f2 "$PHASED_HOME/runs/$1/executed" | sort -u | wc -l)" = "$(record "SELECT count(DISTINCT slurm_id)
        FROM job JOIN run ON run.job = job.id JOIN phase ON phase.id = run.phase
       WHERE job.workflow = $1 AND slurm_id IS NOT NULL AND phase.name <> 'train'")" ]
}

@test "serial and parallel sweeps with rungs end undisturbed, even if the daemon is killed again and again" {
    local seed=${PHASED_SEED:-$RANDOM} kills=0 moments=(before after) pack
    echo "# PHASED_SEED=$seed repeats it"
    RANDOM=$seed
    phasectl daemon start
    for pack in '{serial: 2}' '{parallel: 2}'; do
        ladder '{BATCH_SIZE: [16, 64, 32, 128, 192]}' "best: {max: last(speed), rungs: {MAX_STEPS: [2, 4, 6]}, cut: 1/3}
    pack: $pack" | submit
    done
    daemon_kill
    while ! both_succeeded && [ $kills -lt 40 ]; do
        PHASED_CRASH=commit:$((3 + RANDOM % (kills < 3 ? 5 : 15))):${moments[RANDOM % 2]} phasectl daemon start || true
        eventually 60 gone_or_done
        kills=$((kills + 1))
    done
    daemon_kill
    phasectl daemon start
    eventually 90 both_succeeded
    [ $kills -ge 3 ] # each daemon lives for some commits, and a slow machine makes fewer
    is_undisturbed 1
    is_undisturbed 2
}

members_ended() {
    [ "$(record "SELECT count(*) FROM member JOIN phase ON phase.id = member.phase
                  WHERE phase.state = 'succeeded'")" -ge "$1" ]
}

@test "a sweep of two hundred runs finds the best member, despite a killed daemon and a requeued job" {
    phasectl daemon start
    submit --hold <<'SPEC'
name: sweep
phases:
  sweep:
    resources: {nodes: 1, gpus: h100:1, time: 30m}
    linger: 60s
    preflight: off
    matrix: {x: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19], y: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]}
    pack: {serial: 4}
    run: |
      echo "$x $y $SLURM_JOB_ID" >>"$PHASED_OUT/../../executed"
      for i in 1 2 3; do echo step=$i loss=$(((x - 7) * (x - 7) + (y - 3) * (y - 3) + 3 - i)); done
    best: {min: last(loss)}
  train:
    after: sweep
    resources: {cpus: 1, time: 10m}
    params: {x: =sweep.x, y: =sweep.y}
    run: echo "$x $y" >"$PHASED_OUT/given"
SPEC
    run phasectl status 1
    [[ $output == *"200 members of 1/sweep are held, such as 1/sweep.1: "*"phasectl release 1/sweep "* ]]
    [ "${#lines[@]}" -le 12 ]
    [ "$(phasectl release 1)" = '1/sweep released' ]
    eventually 60 members_ended 30
    daemon_kill
    scontrol requeue "$(squeue -h -t R -o %i | head -n 1)"
    phasectl daemon start
    eventually 60 members_ended 60
    run phasectl status 1
    [[ $output == *"of 200"*" succeeded, "*" waiting"* && $output != *sweep.1* ]]
    [[ $(phasectl why 1) == "1/sweep is "@(active|queued)*" succeeded, "*"1/sweep waits for its members: "*" of 200 have ended"* ]]
    run phasectl logs 1/sweep
    # Meanwhile the last member may have ended.
    [[ $status -ne 0 && $output == *"a matrix has no runs"*@("such as 1/sweep.1"|"its best member is")* ]]
    eventually 200 state 1 succeeded
    [ "$(given)" = '7 3' ]
    [ "$(phasectl status 1/sweep --json | gojq -r .best)" = sweep.74 ]
    [[ $(phasectl logs 1/sweep 2>&1) == *"its best member is 1/sweep.74" ]]
    run phasectl cost 1
    [[ $output == *$'\nsweep '* && $output != *sweep.1* ]]
    [[ $(phasectl cost 1/sweep) == *sweep.74* ]]
    [ "$(cut -d' ' -f1,2 "$PHASED_HOME/runs/1/executed" | sort -u | wc -l)" = 200 ]
    [ "$(cut -d' ' -f3 "$PHASED_HOME/runs/1/executed" | sort -u | wc -l)" -le 8 ]
    [ "$(phasectl status 1/sweep | sed -n '/^MEMBER/,$p' | sed -n 2p | cut -d' ' -f1)" = sweep.74 ]
}

# Each member records its job and its GPUs.
@test "members side by side share a job, and each has its own GPUs, logs and outcome" {
    phasectl daemon start
    submit <<'SPEC'
name: together
phases:
  sweep:
    resources: {nodes: 1, gpus: h100:2, cpus: 1, mem: 10M, time: 30m}
    linger: 60s
    matrix: {lr: [1, 2, 3, 4, 5, 6]}
    pack: {parallel: 2}
    run: |
      dir=$PHASED_OUT/../..
      echo "$lr $SLURM_JOB_ID $CUDA_VISIBLE_DEVICES" >>"$dir/executed"
      touch "$dir/began.$lr"
      if [ $lr -eq 3 ]; then echo 'torch.OutOfMemoryError: CUDA out of memory.' >&2; exit 1; fi
      if [ $lr -le 2 ]; then until [ -e "$dir/began.1" ] && [ -e "$dir/began.2" ]; do sleep 0.2; done; fi
      echo step=1 loss=$((10 - lr))
    best: {min: last(loss)}
SPEC
    eventually 90 state 1 succeeded
    [ "$(standings)" = '1:succeeded:left 2:succeeded:left 3:failed:out 4:succeeded:left 5:succeeded:left 6:succeeded:best' ]
    [ "$(jobs_of_members)" = 1 ]
    [ "$(cut -d' ' -f3 "$PHASED_HOME/runs/1/executed" | sort -u | paste -sd' ')" = '0,1 2,3' ]
    [ "$(head -n 2 "$PHASED_HOME/runs/1/executed" | cut -d' ' -f3 | sort | paste -sd' ')" = '0,1 2,3' ]
    [ "$(record 'SELECT DISTINCT gpus_per_node FROM job')" = 4 ]
    [ "$(phasectl status 1/sweep.4 --json | gojq .gpus)" = 2 ]
    phasectl logs 1/sweep.5 | grep -q 'step=1 loss=5'
}

lane_has_left() {
    ! pgrep -f "phase-worker guest $1\$"
}

# While the daemon is away, the lane of a member leaves. Then the lane gets the third member.
lane_comes_back() {
    local lane
    PHASED_CRASH=tell-next:2:before phasectl daemon start
    submit <<SPEC
name: together
phases:
  sweep:
    resources: {nodes: 1, gpus: h100:1, cpus: 1, mem: 10M, time: 30m}
    linger: 15s
    matrix: {lr: [1, 2, 3]}
    pack: {parallel: 2}
    run: |
      echo "\$lr \$SLURM_JOB_ID" >>"\$PHASED_OUT/../../executed"
      until [ \$lr = 3 ] || [ \$lr = $1 ] || [ -e "\$PHASED_OUT/../../sweep.3/out/ended" ]; do sleep 0.2; done
      touch "\$PHASED_OUT/ended"
      echo step=1 loss=\$lr
    best: {min: last(loss)}
SPEC
    eventually 60 daemon_is_gone
    lane=$(gojq -r .job_dir "$PHASED_HOME/runs/1/sweep.$1/1/run.json")
    eventually 60 lane_has_left "$lane"
    phasectl daemon start
    eventually 90 state 1 succeeded
    [ "$(jobs_of_members)" = 1 ]
}

@test "a guest that has left while the daemon was away goes on with the next member" {
    lane_comes_back 2
}

@test "the first lane, if it has left while the daemon was away, goes on with the next member" {
    lane_comes_back 1
}

@test "a member that an earlier workflow has run is reused, as long as the phase is the same" {
    phasectl daemon start
    ladder '{BATCH_SIZE: [64, 128]}' 'best: {max: mean(speed), reuse: 1d}' | submit
    eventually 90 state 1 succeeded
    ladder '{BATCH_SIZE: [32, 128, 64]}' 'best: {max: mean(speed), reuse: 1d}' | submit
    eventually 90 state 2 succeeded
    [ "$(cut -d' ' -f1 "$PHASED_HOME/runs/2/executed")" = 32 ]
    [ "$(phasectl status 2/ladder --json | gojq -c '[.members[].reused]')" = '[null,"1/ladder.2","1/ladder.1"]' ]
    [ "$(cat "$PHASED_HOME/runs/2/train/out/given")" = '128 256 128 step_5.ckpt' ]
    # With another number of steps it is another phase. A member whose files were deleted is not
    # known. Without `reuse` each member runs.
    rm -r "$PHASED_HOME/runs/1/ladder.1"
    ladder '{BATCH_SIZE: [64, 128]}' 'best: {max: mean(speed), reuse: 1d}' | submit --set ladder.MAX_STEPS=6
    ladder '{BATCH_SIZE: [64, 128]}' 'best: {max: mean(speed), reuse: 1d}' | submit
    ladder '{BATCH_SIZE: [64, 128]}' 'best: {max: mean(speed)}' | submit
    eventually 90 state 3 succeeded
    eventually 90 state 4 succeeded
    eventually 90 state 5 succeeded
    [ "$(cut -d' ' -f1 "$PHASED_HOME/runs/3/executed" | sort -n | paste -sd' ')" = '64 128' ]
    [ "$(cut -d' ' -f1 "$PHASED_HOME/runs/4/executed" | sort -n | paste -sd' ')" = 64 ]
    [ "$(cut -d' ' -f1 "$PHASED_HOME/runs/5/executed" | sort -n | paste -sd' ')" = '64 128' ]
}

@test "a member whose code is not known is run again" {
    mkdir "$PHASED_HOME/code"
    cd "$PHASED_HOME/code"
    git init -q .
    printf 'x\n' >text
    git add text
    git -c user.name=a -c user.email=a@b commit -qm a
    phasectl daemon start
    workflow=0
    for change in y z '\351' '\352' y; do # git shows two of the changes in bytes that are not UTF-8
        printf "$change\n" >text
        ladder '{BATCH_SIZE: [64]}' 'best: {max: mean(speed), reuse: 1d}' | submit
        eventually 90 state $((++workflow)) succeeded
    done
    for change in one two one; do
        printf "$change\n" >'a new file'
        ladder '{BATCH_SIZE: [64]}' 'best: {max: mean(speed), reuse: 1d}' | submit
        eventually 90 state $((++workflow)) succeeded
    done
    truncate --size=65M 'a new file' # too much to read
    ladder '{BATCH_SIZE: [64]}' 'best: {max: mean(speed), reuse: 1d}' | submit
    eventually 90 state $((++workflow)) succeeded
    [ "$(for ((i = 1; i <= workflow; i++)); do executed $i; done | paste -sd' ')" = '64 64 64 64  64 64  64' ]
    [ "$(record 'SELECT fingerprint IS NULL FROM member ORDER BY phase' | paste -sd' ')" = '0 0 1 1 0 0 0 0 1' ]
}

# Prints the fingerprint of the member of a new workflow; empty: the member equals no other.
fingerprint() {
    local code=$1
    shift
    { echo "code: $code"; ladder '{BATCH_SIZE: [64]}' 'best: {max: mean(speed), reuse: 1d}'; } >"$PHASED_HOME/spec.yaml"
    "$@" phasectl submit --hold "$PHASED_HOME/spec.yaml" >/dev/null
    record 'SELECT fingerprint FROM member ORDER BY phase DESC LIMIT 1'
}

make_repository() {
    git init -q "$1"
    cd "$1"
    git config user.name a
    git config user.email a@b
}

@test "a member whose submodule has changes equals no other" {
    phasectl daemon start
    (make_repository "$PHASED_HOME/lib"; echo x >train.sh; git add -A; git commit -qm a)
    make_repository "$PHASED_HOME/code"
    git -c protocol.file.allow=always submodule --quiet add "$PHASED_HOME/lib" lib
    git commit -qm a
    first=$(fingerprint live)
    [ -n "$first" ]
    [ "$(fingerprint live)" = "$first" ]
    echo y >lib/train.sh
    [ -z "$(fingerprint live)" ]
    for key in diff.ignoreSubmodules=all diff.submodule=log color.ui=always; do
        git config "${key%=*}" "${key#*=}"
        [ -z "$(fingerprint live)" ]
    done
    git -C lib -c user.name=a -c user.email=a@b commit -qam b
    second=$(fingerprint live)
    [ -n "$second" ]
    [ "$second" != "$first" ]
    echo x >train.sh
    git add -A
    git commit -qm b
    mkdir below && cd below
    for key in diff.relative=true diff.noprefix=true; do # the changes are those of the whole repository
        git config "${key%=*}" "${key#*=}"
    done
    first=$(fingerprint live)
    echo z >>../train.sh
    [ "$(fingerprint live)" != "$first" ]
    grep -F 'diff --git a/train.sh b/train.sh' <(phasectl show --diff "$(record 'SELECT max(id) FROM workflow')")
}

# git refuses a repository of another person, for example.
@test "a member equals no other if git knows no commit, unless there is no repository" {
    phasectl daemon start
    mkdir -p "$PHASED_HOME/bin" "$PHASED_HOME/code/sub"
    printf '#!/bin/sh\necho "fatal: detected dubious ownership" >&2\nexit 128\n' >"$PHASED_HOME/bin/git"
    chmod +x "$PHASED_HOME/bin/git"
    cd "$PHASED_HOME/code/sub"
    plain=$(fingerprint live)
    [ -n "$plain" ]
    [ "$(fingerprint live env PATH="$PHASED_HOME/bin:$PATH")" = "$plain" ]
    (make_repository "$PHASED_HOME/code")
    [ -z "$(fingerprint live)" ]
    [[ $(phasectl show 3) == *"no commit is known: "* ]]
    echo x >train.sh
    git add -A
    git commit -qm a
    [ -n "$(fingerprint live)" ]
    [ -z "$(fingerprint live env PATH="$PHASED_HOME/bin:$PATH")" ]
    [[ $(phasectl show 5) == *"no commit is known: fatal: detected dubious ownership"* ]]
}

@test "members that run in copies of the same code are equal" {
    phasectl daemon start
    make_repository "$PHASED_HOME/code"
    echo x >train.sh
    git add -A
    git commit -qm a
    live=$(fingerprint live)
    copied=$(fingerprint snapshot)
    [ "$copied" != "$live" ] # a copy has no ignored files
    [ "$(fingerprint snapshot)" = "$copied" ]
    echo y >train.sh
    changed=$(fingerprint snapshot)
    [[ -n $changed && $changed != "$copied" ]]
    echo x >train.sh
    mkdir sub
    cd sub
    [ "$(fingerprint snapshot)" != "$copied" ]
    [ "$(record 'SELECT count(fingerprint) FROM member')" = 5 ]
}

executed() {
    cut -d' ' -f1 "$PHASED_HOME/runs/$1/executed" 2>/dev/null | sort -n | paste -sd' '
}

judged() {
    [ "$(record "SELECT count(*) FROM event JOIN phase ON phase.id = event.phase
                  WHERE phase.name = 'ladder' AND from_state = 'deciding' AND phase.workflow = $1")" = "$2" ]
}

@test "why names the reason once for all members that are out" {
    phasectl daemon start
    ladder '{BATCH_SIZE: [192, 256]}' 'best: {max: mean(speed)}' | submit
    eventually 90 state 1 held
    run phasectl why 1
    [ "$(grep -c '2 out' <<<"$output")" = 1 ]
    [[ $output == *"2 out, such as 1/ladder.1: oom: "* ]]
}

@test "a matrix without a remaining member can be judged again, or a person chooses; nothing runs again" {
    local best='best: {max: mean(speed), where: max(memry) < 60, reuse: 1d}'
    phasectl daemon start
    ladder '{BATCH_SIZE: [64, 128, 192]}' "$best" | submit
    eventually 90 state 1 held
    run phasectl why 1
    [[ $output == *"no member is left: "*memry* ]]
    [[ $output == *"phasectl promote 1/ladder "*"choose among"* ]]
    [[ $output == *"phasectl promote 1/ladder.N "* ]]
    [[ $output == *"phasectl retry 1/ladder "*"judge"* ]]
    [ "$(phasectl retry 1)" = '1/ladder chooses again among its results' ]
    eventually 60 judged 1 2
    [ "$(phasectl status 1/ladder --json | gojq -c "[.members[].value] | $as_numbers")" = '[643,1283,null]' ]
    phasectl promote 1
    eventually 60 state 1 succeeded
    [ "$(standings)" = '1:succeeded:left 2:succeeded:best 3:failed:out' ]
    [ "$(executed 1)" = '64 128 192' ]
    [ "$(given)" = '128 256 128 step_5.ckpt' ]
    # All results are known, and still the held matrix does not begin.
    # Another `where` does not change the members.
    ladder '{BATCH_SIZE: [64, 128]}' "${best/memry/mmory}" | submit --hold
    [ "$(phasectl status 2 --json | gojq -r .state)" = held ]
    phasectl release 2
    eventually 60 judged 2 1
    run phasectl promote 2/train
    [ "$status" -ne 0 ]
    phasectl promote 2/ladder.1
    eventually 60 state 2 succeeded
    [ "$(cat "$PHASED_HOME/runs/2/train/out/given")" = '64 128 64 step_5.ckpt' ]
    [ -z "$(executed 2)" ]
}

@test "known rungs of a member are not run again, and the member continues from them" {
    local rungs='best: {max: last(speed), where: count(speed) == MAX_STEPS and step == MAX_STEPS, rungs: {MAX_STEPS: [2, 4]}, reuse: 1d}
    pack: serial'
    phasectl daemon start
    ladder '{BATCH_SIZE: [16, 64, 32]}' "$rungs" | submit # 16 is cut
    eventually 90 state 1 succeeded
    [ "$(record 'SELECT count(*) FROM job')" = 1 ] # both rungs, and what follows
    ladder '{BATCH_SIZE: [64, 16, 128]}' "$rungs" | submit
    ladder '{BATCH_SIZE: [16, 8, 4]}' "$rungs" | submit
    eventually 90 state 2 succeeded
    [ "$(executed 2)" = '128 128' ]
    [ "$(cat "$PHASED_HOME/runs/2/train/out/given")" = '128 256 128 step_4.ckpt' ]
    eventually 90 state 3 succeeded
    [ "$(executed 3)" = '4 8 8 16' ]
    [ "$(record "SELECT resume_step FROM run JOIN phase ON phase.id = run.phase
                 WHERE workflow = 3 AND phase.name = 'ladder.1'")" = 2 ]
    [ "$(phasectl status 3/ladder --json | gojq -c "[.best, .members[0].value] | $as_numbers")" = '["ladder.1",164]' ]
    [ "$(cat "$PHASED_HOME/runs/3/train/out/given")" = '16 32 16 step_4.ckpt' ]
    # All results of 1 are known: the matrix climbs and decides again without a run.
    ladder '{BATCH_SIZE: [16, 64, 32]}' "$rungs" | submit
    eventually 90 state 4 succeeded
    [ -z "$(executed 4)" ]
    [ "$(standings 4)" = '1:succeeded:cut 2:succeeded:best 3:succeeded:left' ]
    [ "$(cat "$PHASED_HOME/runs/4/train/out/given")" = '64 128 64 step_4.ckpt' ]
}
