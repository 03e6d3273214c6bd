# Shared by the bats files about interrupted trainings: a small training that resumes exactly, and
# its end conditions. Load it after phased.bash.

# This program costs no processor time, unlike phase-model. The tests are about phased.
TRAINING="python3 -IS $SRC/tests/system/training.py"

# reference_up [ITERATIONS]: makes the result of an undisturbed training.
reference_up() {
    export REFERENCE=$SANDBOX/reference
    $TRAINING --out "$REFERENCE" --iterations "${1:-150}" --save-every 20 --pace 0 >/dev/null
}

# training [STEP...]: a phase with one rank, which writes a checkpoint on SIGTERM. The first run waits
# after the first STEP until it is interrupted, the second run after the second, and so on. A file `go`
# in its folder lets it go on.
training() {
    cat <<SPEC
name: recovery
phases:
  train:
    resources: {nodes: 1, gpus: h100:1, time: 30m}
    launch: rank
    params: {iterations: 150}
    run: |
      echo "\$SLURM_JOB_ID" >>"\$PHASED_OUT/executed"
      exec $TRAINING --out "\$PHASED_OUT" --resume "\$PHASED_RESUME" \
        --iterations \$iterations --save-every 20${1:+ --wait-at $*}
    progress: {step: step, total: \$iterations}
    checkpoint: {path: "\$PHASED_OUT/step_{step}.ckpt", save_time: 10s}
    gate: {falling: {value: slope(loss), below: 0}}
SPEC
}

same_weights() {
    cmp "$REFERENCE/step_000150.ckpt" "$PHASED_HOME/runs/$1/train/out/step_000150.ckpt"
}

# Whether Slurm has run exactly the jobs of the record.
jobs_agree() {
    local record
    record=$(record 'SELECT slurm_id FROM job WHERE started IS NOT NULL ORDER BY slurm_id' | paste -sd' ')
    [ "$(sort -un "$PHASED_HOME"/runs/*/*/out/executed | paste -sd' ')" = "$record" ]
}

# Takes all nodes for two seconds.
preempt() {
    srun -p prod -N 2 --gres=gpu:h100:8 --job-name=preemptor sleep 2
}

outcomes() {
    record 'SELECT outcome FROM run ORDER BY id' | paste -sd' '
}
