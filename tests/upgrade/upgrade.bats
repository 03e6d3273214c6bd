#!/usr/bin/env bats
# A daemon of this version serves a home after a daemon of the previous release. The programs of the
# previous release are in the folder $OLD. tests/upgrade/run builds them, and runs this file.

bats_require_minimum_version 1.5.0
load ../system/phased.bash
load ../system/training.bash

setup_file() {
    sandbox_up 2
    reference_up
}
teardown_file() { sandbox_down; }
setup() { home_up; }
teardown() {
    scancel --name=preemptor || true
    home_down
}

# `second` goes on in the allocation of `first`. `wider` needs a job of its own. `first` trains until
# the file `go` exists. Each execution writes which job and which worker it has.
workflow() {
    cat <<'SPEC'
name: upgrade
phases:
  first:
    resources: {nodes: 1, gpus: h100:1, time: 30m}
    launch: node
    run: |
      [ "$HF_TOKEN" = told ]
      echo "$SLURM_JOB_ID" >>"$PHASED_OUT/executed"
      readlink "/proc/$PPID/exe" >>"$PHASED_OUT/workers"
      step=${PHASED_RESUME_STEP:-0}
      until [ -e "$PHASED_OUT/go" ] && [ $step -gt 2 ]; do
        sleep 0.2
        step=$((step + 1))
        echo "step=$step loss=$((1000000 - step))"
        printf '%06d\n' $step >"$PHASED_OUT/new" && mv "$PHASED_OUT/new" "$PHASED_OUT/step_$step.ckpt"
      done
    checkpoint: {path: "$PHASED_OUT/step_{step}.ckpt", save_time: 5s}
    gate: {falling: last(loss) < first(loss)}
    linger: 2m # a slow machine needs long to decide the gate
  second:
    after: first
    resources: {nodes: 1, gpus: h100:1, time: 2m} # fits into what is left of that job
    launch: node
    run: |
      [ "$HF_TOKEN" = told ]
      echo "$SLURM_JOB_ID" >>"$PHASED_OUT/executed"
      readlink "/proc/$PPID/exe" >>"$PHASED_OUT/workers"
      cat "$PHASED_CHECKPOINT_first"
      echo step=1 loss=2; echo step=2 loss=1
    gate: {falling: last(loss) < first(loss)}
  wider:
    extends: second
    after: second
    resources: {nodes: 2}
SPEC
}

old() {
    "$OLD/phasectl" "$@"
}

# out PHASE FILE: the file in the phase's folder, of the only workflow.
out() {
    echo "$PHASED_HOME/runs/1/$1/out/$2"
}

# job_of PHASE: Slurm's ids of the jobs of its runs.
job_of() {
    record "SELECT DISTINCT j.slurm_id FROM run r JOIN job j ON j.id = r.job JOIN phase p ON p.id = r.phase
            WHERE p.name = '$1'"
}

saves_beyond() {
    [ "$(record 'SELECT max(step) FROM checkpoint')" -gt "$1" ]
}

trains_beyond() {
    [ -e "$(out first "step_$1.ckpt")" ]
}

# The old daemon has submitted the workflow. The run has saved checkpoints, which the record has.
old_daemon_trains() {
    old daemon start
    workflow >"$PHASED_HOME/spec.yaml"
    HF_TOKEN=told old submit "$PHASED_HOME/spec.yaml"
    eventually 120 saves_beyond 3
    [ "$(readlink "/proc/$(daemon_pid)/exe")" = "$OLD/phased" ]
    record 'SELECT count(*) FROM event' >"$PHASED_HOME/events"
}

# The number in the name of the newest migration.
newest_schema() {
    local name
    name=$(find "$SRC/schema" -maxdepth 1 -name '[0-9]*.sql' -printf '%f\n' | sort | tail -n 1)
    echo "$((10#${name%%_*}))"
}

# The new daemon has all that the old daemon knew.
record_is_migrated() {
    [ "$(readlink "/proc/$(daemon_pid)/exe")" = "$(realpath "$BIN/phased")" ]
    [ "$(record 'PRAGMA user_version')" = "$(newest_schema)" ]
    [ "$(record 'PRAGMA integrity_check')" = ok ]
    [ "$(record 'SELECT count(*) FROM event')" -ge "$(cat "$PHASED_HOME/events")" ]
    [ "$(record "SELECT count(*) FROM phase WHERE name IN ('first', 'second', 'wider')")" = 3 ]
}

# The workflow ends as if nothing had happened.
ends_well() {
    touch "$(out first go)"
    eventually 180 state 1 succeeded
    [ "$(record 'SELECT outcome FROM run ORDER BY id' | paste -sd' ')" = 'succeeded succeeded succeeded' ]
    [ "$(job_of first)" = "$(cat "$(out first executed)")" ]
    [ "$(job_of second)" = "$(job_of first)" ]
    [ "$(cat "$(out second executed)")" = "$(job_of first)" ]
    [ "$(sort -u "$(out wider executed)")" = "$(job_of wider)" ]
    run -0 phasectl gate 1/first --json
    [ "$(gojq -r '[.checks[].outcome] | join(" ")' <<<"$output")" = passed ]
    # No step is missing, although nobody has listened for a while.
    [ "$(record "SELECT count(DISTINCT m.step) = max(m.step) FROM metric m JOIN run r ON r.id = m.run
                 JOIN phase p ON p.id = r.phase WHERE p.name = 'first'")" = 1 ]
}

# The job of the old daemon has the old worker to its end. A new job has the new worker.
each_job_has_its_worker() {
    [ "$(cat "$(out first workers)" "$(out second workers)" | sort -u)" = "$OLD/phase-worker" ]
    [ "$(sort -u "$(out wider workers)")" = "$(realpath "$BIN/phase-worker")" ]
}

@test "a running job of the old daemon, which was killed, goes on under the new daemon" {
    old_daemon_trains
    daemon_kill
    step=$(record 'SELECT max(step) FROM checkpoint')
    eventually 60 trains_beyond $((step + 5)) # without any daemon
    phasectl daemon start
    record_is_migrated
    eventually 60 saves_beyond $((step + 5))
    state 1/first active
    ends_well
    each_job_has_its_worker
}

@test "the new daemon decides the gate of a run that has ended while no daemon was there" {
    old_daemon_trains
    old daemon stop
    touch "$(out first go)"
    eventually 60 test -e "$PHASED_HOME/runs/1/first/1/outcome.json"
    phasectl daemon start
    record_is_migrated
    ends_well
    each_job_has_its_worker
}

# A training of one phase, which a preemption may interrupt.
training_begins() {
    old daemon start
    training 110 >"$PHASED_HOME/spec.yaml"
    old submit "$PHASED_HOME/spec.yaml"
    eventually 120 past 1/train 25
}

training_ends_well() {
    eventually 180 state 1 succeeded
    [ "$(outcomes)" = 'preempted succeeded' ]
    [ "$(record 'SELECT last_step FROM run WHERE attempt = 1')" = \
        "$(record 'SELECT resume_step FROM run WHERE attempt = 2')" ]
    jobs_agree
    same_weights 1
}

waits_in_slurm() {
    scontrol show job "$(job_of train)" | grep -q 'JobState=PENDING'
}

@test "a run that was preempted while no daemon was there goes on in its job under the new daemon" {
    training_begins
    daemon_kill
    preempt
    eventually 60 waits_in_slurm
    phasectl daemon start
    training_ends_well
    [ "$(record 'SELECT count(*) FROM job')" = 1 ]
}

@test "a run that is preempted under the new daemon goes on in its job" {
    training_begins
    old daemon stop
    phasectl daemon start
    preempt
    training_ends_well
    [ "$(record 'SELECT count(*) FROM job')" = 1 ]
}

@test "the new worker resumes the checkpoint of the old worker in a new job" {
    old_daemon_trains
    old daemon stop
    phasectl daemon start
    phasectl hold 1/first
    eventually 60 state 1/first held
    step=$(record 'SELECT max(step) FROM checkpoint')
    phasectl release 1/first
    eventually 120 saves_beyond "$step"
    touch "$(out first go)"
    eventually 180 state 1 succeeded
    [ "$(record 'SELECT resume_step FROM run WHERE id = 2')" = "$step" ]
    diff "$(out first workers)" - <<<"$OLD/phase-worker"$'\n'"$(realpath "$BIN/phase-worker")"
    [ "$(job_of first | paste -sd' ')" = "$(paste -sd' ' "$(out first executed)")" ]
}

@test "the old phasectl asks and commands the new daemon" {
    old_daemon_trains
    old daemon stop
    phasectl daemon start
    for words in status 'status 1' 'runs 1' 'show 1' 'metrics 1/first' 'logs 1/first' 'gate 1/first' nodes \
        'cost' 'why 1/first' 'daemon status'; do
        # shellcheck disable=SC2086 # two words
        run -0 old $words
        [ -n "$output" ]
    done
    old hold 1/first
    eventually 60 state 1/first held
    old release 1/first
    eventually 60 state 1/first active
    old cancel 1
    eventually 60 state 1 cancelled
}

@test "the old daemon refuses the record of the new daemon, and says why" {
    old_daemon_trains
    old daemon stop
    phasectl daemon start
    phasectl cancel 1
    phasectl daemon stop
    run ! old daemon start
    [[ $output == *"a newer phased wrote it (schema "* ]]
    phasectl daemon start # nothing has changed
    eventually 60 state 1 cancelled
}

# install_programs FROM TO: copies what lies in a build folder. As a package does, it replaces files,
# and does not change those that are being executed.
install_programs() {
    mkdir -p "$2/lib"
    cp -r --remove-destination "$1/bin" "$1/share" "$1/libexec" "$2"
    [ ! -d "$1/lib/phased" ] || cp -r --remove-destination "$1/lib/phased" "$2/lib"
}

@test "programs that replace the old ones in their folder serve the old job to its end" {
    local usr=$PHASED_HOME/usr
    install_programs "$OLD/.." "$usr"
    OLD=$usr/bin old_daemon_trains
    PATH=$usr/bin:$PATH
    install_programs "$BIN/.." "$usr"
    phasectl daemon stop
    phasectl daemon start
    BIN=$usr/bin record_is_migrated
    ends_well
}

@test "a run whose worker was removed with the old programs goes on with the new worker" {
    local usr=$PHASED_HOME/usr
    install_programs "$OLD/.." "$usr"
    OLD=$usr/bin training_begins
    phasectl daemon stop
    rm -rf "$usr"
    phasectl daemon start
    preempt
    eventually 180 state 1 succeeded
    [ "$(outcomes)" = 'preempted failed succeeded' ] # the requeued job finds no worker
    [ "$(record 'SELECT last_step FROM run WHERE attempt = 1')" = \
        "$(record 'SELECT resume_step FROM run WHERE attempt = 3')" ]
    same_weights 1
}
