#!/usr/bin/env bats
# Many workflows at once while their nodes are taken away again and again: every one succeeds, ends
# with the state of an undisturbed training, and Slurm has run exactly the jobs that the record names.
# PHASED_STORM says how many workflows (12), PHASED_STORM_SECONDS how long the storm lasts (45).

load phased.bash

setup_file() { sandbox_up 4; }
teardown_file() { sandbox_down; }
setup() { home_up; }
teardown() {
    scancel --name=preemptor 2>/dev/null || true
    home_down
}

# Each step's state follows from the one before; TERM and every tenth step write a checkpoint.
chain() {
    cat <<'SPEC'
name: storm
phases:
  train:
    resources: {nodes: 1, gpus: h100:1, time: 10m}
    launch: node
    run: |
      step=0 state=start
      [ -z "$PHASED_RESUME" ] || read -r step state <"$PHASED_RESUME"
      save() { echo "$step $state" >"$PHASED_OUT/.new" && mv "$PHASED_OUT/.new" "$PHASED_OUT/step_$step"; }
      stop=no
      trap 'stop=yes' TERM
      while [ $step -lt 100 ]; do
        sleep 0.2 & wait $! || true
        step=$((step + 1)) state=$(echo "$state $step" | cksum | cut -d' ' -f1)
        echo "$step" >>"$PHASED_OUT/steps"
        echo "step=$step loss=$((101 - step))"
        [ $((step % 10)) != 0 ] || save
        [ $stop = no ] || { save; exit 0; }
      done
      echo "$state" >"$PHASED_OUT/final"
    checkpoint: {path: "$PHASED_OUT/step_{step}", save_time: 5s}
    gate: {done: last(loss) <= 1}
SPEC
}

undisturbed() {
    local state=start step
    for step in $(seq 100); do
        state=$(echo "$state $step" | cksum | cut -d' ' -f1)
    done
    echo "$state"
}

finished() {
    [ "$(record "SELECT count(*) FROM phase WHERE state = 'succeeded'")" = "$1" ]
}

@test "workflows under a storm of preemptions all end as if there had been none" {
    local count=${PHASED_STORM:-12} seconds=${PHASED_STORM_SECONDS:-45} files=() i phase deadline final
    phasectl daemon start
    chain >"$PHASED_HOME/storm.yaml"
    for i in $(seq "$count"); do
        files+=("$PHASED_HOME/storm.yaml")
    done
    phasectl submit "${files[@]}"
    deadline=$((SECONDS + seconds))
    while [ $SECONDS -lt $deadline ] && ! finished "$count"; do
        srun -p prod -N $((RANDOM % 3 + 1)) --gres=gpu:h100:8 --job-name=preemptor sleep $((RANDOM % 3 + 1)) \
            2>/dev/null
    done
    eventually 200 finished "$count"
    final=$(undisturbed)
    for i in $(seq "$count"); do
        [ "$(cat "$PHASED_HOME/runs/$i/train/out/final")" = "$final" ]
        [ "$(sort -un "$PHASED_HOME/runs/$i/train/out/steps" | wc -l)" = 100 ]
    done
    # There was a storm; no job but those of the record has run; each run ended with one outcome.
    echo "# $(record "SELECT count(*) || ' runs, ' || sum(outcome = 'preempted') || ' of them preempted' FROM run")" >&3
    [ "$(record "SELECT count(*) > 0 FROM run WHERE outcome = 'preempted'")" = 1 ]
    [ "$(record "SELECT count(*) FROM run WHERE outcome IS NULL OR outcome IN ('failed', 'lost', 'cancelled')
                 AND begun = 1")" = 0 ]
    [ "$(scontrol -o show jobs | grep -F "$PHASED_HOME/" | grep -oE '^JobId=[0-9]+' | cut -d= -f2 | sort -n |
        paste -sd' ')" = "$(record 'SELECT slurm_id FROM job WHERE slurm_id IS NOT NULL ORDER BY slurm_id' | paste -sd' ')" ]
}
