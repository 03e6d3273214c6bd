#!/usr/bin/env bats
# Two trainings side by side on one GPU in one job: to their ends, through a preemption, a failure
# of one training, a killed daemon and an absent daemon.

load phased.bash
load training.bash

setup_file() {
    sandbox_up 2
    reference_up 400
}
teardown_file() { sandbox_down; }
setup() {
    home_up
    nodes_settle
}
teardown() {
    scontrol update PartitionName=preempt State=UP 2>/dev/null || true
    home_down
}

# pair [STEP...]: `small` and `large` train the same model, each in its own folder. Each of their runs
# waits after its STEP, as in `training`.
pair() {
    cat <<SPEC
name: pair
defaults:
  launch: rank
  params: {iterations: 400}
  run: |
    echo "\$SLURM_JOB_ID \$CUDA_VISIBLE_DEVICES" >>"\$PHASED_OUT/executed"
    exec $TRAINING --out "\$PHASED_OUT" --resume "\$PHASED_RESUME" \
      --iterations \$iterations --save-every 20${1:+ --wait-at $*}
  progress: {step: step, total: \$iterations}
  checkpoint: {path: "\$PHASED_OUT/step_{step}.ckpt", save_time: 10s}
  gate: {falling: {value: slope(loss), below: 0}}
phases:
  small:
    resources: {nodes: 1, gpus: h100:1, time: 30m}
  large:
    colocate: small
SPEC
}

# Two shells that run until a file exists. `left` fails while the file `broken` exists.
shells() {
    cat <<'SPEC'
name: shells
defaults:
  launch: node
phases:
  left:
    resources: {nodes: 1, gpus: h100:2, cpus: 4, time: 30m}
    run: |
      echo "$SLURM_JOB_ID $CUDA_VISIBLE_DEVICES" >>"$PHASED_OUT/executed"
      trap 'exit 0' TERM
      for ((step = 1;; step++)); do
        echo "step=$step loss=1"
        if [ -e "$PHASED_OUT/broken" ]; then exit 3; fi
        if [ -e "$PHASED_OUT/done" ]; then exit 0; fi
        sleep 0.2 & wait $! || true
      done
    checkpoint: {path: "$PHASED_OUT/step_{step}", save_time: 5s} # so that it can join a job that is under way
  right:
    extends: left
    colocate: left
SPEC
}

out() {
    echo "$PHASED_HOME/runs/$workflow/$1/out"
}

job() {
    record "SELECT DISTINCT slurm_id FROM job"
}

# makes PHASE STEPS: whether the newest run of the phase has made more than STEPS steps.
makes() {
    [ "$(phasectl status "$workflow/$1" --json | gojq -r '.run | select(.state == "running") | .last_step // 0')" -gt "$2" ]
}

both_go() {
    touch "$(out small)/go" "$(out large)/go"
}

both_make() {
    makes small "$1" && makes large "$1"
}

both_run() {
    makes left 5 && makes right 5
}

# One Slurm job did everything on the same GPUs, and both phases ended with the weights of an
# uninterrupted training.
one_job() {
    [ "$(job | wc -l)" = 1 ]
    [ "$(sort -u "$(out small)/executed" "$(out large)/executed" | wc -l)" = 1 ]
    cmp "$REFERENCE/step_000400.ckpt" "$(out small)/step_000400.ckpt"
    cmp "$REFERENCE/step_000400.ckpt" "$(out large)/step_000400.ckpt"
}

both_resumed() {
    [ "$(record 'SELECT count(*) FROM run WHERE attempt = 2 AND resume_step >= 20')" = 2 ]
}

outcomes_of() {
    record "SELECT outcome FROM run JOIN phase ON phase.id = run.phase 
            WHERE phase.name = '$1' AND outcome IS NOT NULL ORDER BY attempt" | paste -sd' '
}

is_submitted() {
    [ -n "$(job)" ]
}

no_job() {
    [ -z "$(squeue -h)" ]
}

outcomes_are() {
    [ "$(outcomes_of "$1")" = "$2" ]
}

restarts() {
    scontrol show job "$(job)" | grep -oE 'Restarts=[0-9]+' | cut -d= -f2
}

waits() {
    [ "$(restarts)" -ge 1 ] && scontrol show job "$(job)" | grep -q 'Reason=BeginTime'
}

@test "two phases train side by side on the same GPU, in one job, to their ends" {
    phasectl daemon start
    workflow=$(pair 100 | submit)
    eventually 60 both_make 5
    [ "$(squeue -h | wc -l)" = 1 ]
    phasectl status "$workflow" | grep -E '^small .* on n[12], beside large in job '"$(job)"
    phasectl status "$workflow" | grep -E '^large .* on n[12], beside small in job '"$(job)"
    both_go
    eventually 120 state "$workflow" succeeded
    one_job
    [ "$(record 'SELECT (SELECT count(*) FROM job), count(*) FROM seat')" = '1|2' ]
    # Each phase was judged by its own gate, and the GPU is paid for once.
    [ "$(record "SELECT count(DISTINCT run) FROM verdict WHERE outcome = 'passed'")" = 2 ]
    [ "$(record 'SELECT sum(gpu_hours) < max(seconds) * 1.5 / 3600 FROM v_run')" = 1 ]
    eventually 60 no_job
}

@test "two phases side by side go on in the same job after a preemption, even if the daemon is killed" {
    phasectl daemon start
    workflow=$(pair 60 120 | submit)
    eventually 60 both_make 25
    daemon_kill
    phasectl daemon start
    preempt
    eventually 60 both_make 60
    daemon_kill
    phasectl daemon start
    both_go
    eventually 150 state "$workflow" succeeded
    [ "$(outcomes_of small)" = 'preempted succeeded' ]
    [ "$(outcomes_of large)" = 'preempted succeeded' ]
    both_resumed
    [ "$(restarts)" = 1 ]
    one_job
    [ "$(record 'SELECT count(DISTINCT step) FROM metric')" = 400 ]
}

@test "two phases side by side go on alone while the daemon is away" {
    phasectl daemon start
    workflow=$(pair 60 | submit)
    eventually 60 both_make 25
    daemon_kill
    preempt
    eventually 60 waits
    scontrol update JobId="$(job)" StartTime=now+2
    eventually 150 test -s "$(out small)/../2/outcome.json"
    eventually 150 test -s "$(out large)/../2/outcome.json"
    phasectl daemon start
    eventually 60 state "$workflow" succeeded
    [ "$(outcomes_of small)" = 'preempted succeeded' ]
    [ "$(outcomes_of large)" = 'preempted succeeded' ]
    both_resumed
    one_job
}

@test "a phase that fails leaves the other phase alone, and joins its job again when it is retried" {
    phasectl daemon start
    workflow=$(shells | submit)
    eventually 60 makes left 5
    touch "$(out left)/broken"
    eventually 60 state "$workflow/left" held
    state "$workflow/right" active
    rm "$(out left)/broken"
    phasectl retry "$workflow/left"
    eventually 60 makes left 5
    [ "$(squeue -h | wc -l)" = 1 ]
    state "$workflow/right" active
    [ "$(outcomes_of right)" = '' ]
    # The phase that ends first leaves the job to the other phase.
    touch "$(out left)/done"
    eventually 60 state "$workflow/left" succeeded
    [ "$(squeue -h -o %i)" = "$(job)" ]
    touch "$(out right)/done"
    eventually 60 state "$workflow" succeeded
    [ "$(outcomes_of left)" = 'failed succeeded' ]
    [ "$(outcomes_of right)" = succeeded ]
    [ "$(sort -u "$(out left)/executed" "$(out right)/executed" | wc -l)" = 1 ]
}

@test "a phase that is cancelled leaves the other phase alone, even while both wait in the queue" {
    phasectl daemon start
    scontrol update PartitionName=preempt State=DOWN
    workflow=$(shells | submit)
    eventually 60 is_submitted
    phasectl cancel "$workflow/left"
    scontrol update PartitionName=preempt State=UP
    eventually 60 makes right 5
    eventually 60 state "$workflow/left" cancelled
    [ ! -e "$(out left)/executed" ]
    phasectl cancel "$workflow/right"
    eventually 60 state "$workflow" cancelled
    eventually 60 no_job
}

@test "a lead that is killed is started again, and continues its phase" {
    phasectl daemon start
    workflow=$(shells | submit)
    eventually 60 makes right 5
    pkill -KILL -f "phase-worker guest $PHASED_HOME/runs/$workflow/phased-$(record 'SELECT token FROM seat WHERE token NOT IN (SELECT token FROM job)')"
    eventually 60 outcomes_are right preempted
    eventually 60 makes right 2
    [ "$(outcomes_of left)" = '' ]
    touch "$(out left)/done" "$(out right)/done"
    eventually 60 state "$workflow" succeeded
    [ "$(job | wc -l)" = 1 ]
}

# Both phases have run in two jobs, one after the other.
one_new_job() {
    [ "$(record 'SELECT count(DISTINCT job), count(DISTINCT seat) FROM run WHERE started IS NOT NULL')" = '2|4' ]
    [ "$(job | wc -l)" = 2 ]
    cmp "$(out left)/executed" "$(out right)/executed"
}

@test "two phases side by side go on in one new job after their job was cancelled in Slurm" {
    phasectl daemon start
    workflow=$(shells | submit)
    eventually 60 both_run
    scancel "$(job)"
    eventually 60 state "$workflow/left" held
    eventually 60 state "$workflow/right" held
    phasectl retry "$workflow"
    eventually 60 both_run
    touch "$(out left)/done" "$(out right)/done"
    eventually 60 state "$workflow" succeeded
    one_new_job
}

@test "a host that is killed takes both phases with it, and both go on in one new job" {
    phasectl daemon start
    workflow=$(shells | submit)
    eventually 60 both_run
    pkill -KILL -f "phase-worker host $PHASED_HOME/runs/$workflow/"
    eventually 90 outcomes_are left lost
    eventually 60 outcomes_are right lost
    touch "$(out left)/done" "$(out right)/done"
    eventually 90 state "$workflow" succeeded
    one_new_job
}
