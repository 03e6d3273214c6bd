#!/usr/bin/env bats
# The daemon is killed (SIGKILL, by PHASED_CRASH) at every effect of a two-phase workflow, right before
# or right after it is carried out, and started again: no phase is lost and none is run twice, by the
# counts of Slurm, of the record and of the programs themselves.

load phased.bash
load training.bash

setup_file() { sandbox_up 2; }
teardown_file() { sandbox_down; }
setup() { home_up; }
teardown() { home_down; }

daemon_is_gone() {
    ! daemon_pid
}

gone_or_done() {
    daemon_is_gone || state 1 succeeded
}

# crash_at POINT: one workflow, a daemon that dies there, and one that takes over.
crash_at() {
    local jobs
    PHASED_CRASH=$1 phasectl daemon start
    two_phases >"$PHASED_HOME/spec.yaml"
    phasectl submit "$PHASED_HOME/spec.yaml" || true # it may have died before it answered
    eventually 60 gone_or_done
    daemon_is_gone # else this point does not exist in the workflow
    phasectl daemon start
    # A submission that was never committed was told to have failed: it is the user's to repeat.
    [ "$(record 'SELECT count(*) FROM workflow')" = 1 ] || phasectl submit "$PHASED_HOME/spec.yaml"
    eventually 90 state 1 succeeded
    for phase in first second; do
        [ "$(line_count "$PHASED_HOME/runs/1/$phase/out/executed")" = 1 ]
        [ "$(record "SELECT count(*) FROM v_run WHERE address LIKE '1/$phase#%'
                        AND outcome = 'succeeded'")" = 1 ]
    done
    [ "$(record 'SELECT count(*) FROM v_workflow')" = 1 ]
    # Slurm has run exactly the jobs that the record names.
    jobs=$(scontrol -o show jobs | grep -F "$PHASED_HOME/" | grep -oE '^JobId=[0-9]+' | cut -d= -f2 |
        sort -n | paste -sd' ')
    [ "$jobs" = "$(record 'SELECT slurm_id FROM job ORDER BY slurm_id' | paste -sd' ')" ]
    [ "$(sort -u "$PHASED_HOME"/runs/1/*/out/executed | paste -sd' ')" = "$jobs" ]
}

@test "killed before the first commit" { crash_at commit:1:before; }
@test "killed after the first commit" { crash_at commit:1:after; }
@test "killed after the second commit" { crash_at commit:2:after; }
@test "killed after the third commit" { crash_at commit:3:after; }
@test "killed after the fifth commit" { crash_at commit:5:after; }
@test "killed before the submission" { crash_at submit:1:before; }
@test "killed after the submission" { crash_at submit:1:after; }
@test "killed before the gate is judged" { crash_at judge:1:before; }
@test "killed after the gate was judged" { crash_at judge:1:after; }
@test "killed before the lead is told to go on" { crash_at tell-next:1:before; }
@test "killed after the lead was told to go on" { crash_at tell-next:1:after; }
@test "killed before the last gate is judged" { crash_at judge:2:before; }
@test "killed after the last gate was judged" { crash_at judge:2:after; }
@test "killed before the lead is told to leave" { crash_at tell-end:1:before; }
@test "killed after the lead was told to leave" { crash_at tell-end:1:after; }

# The same training twice, one after the other in one allocation.
two_trainings() {
    training | sed 's/iterations: 150/iterations: 400/'
    cat <<'SPEC'
  again:
    extends: train
    after: train
SPEC
}

@test "killed at 20 random moments of one workflow, which ends as an undisturbed one" {
    local seed=${PHASED_SEED:-$RANDOM} kills=0 phase
    echo "# PHASED_SEED=$seed repeats it"
    RANDOM=$seed
    reference_up 400
    phasectl daemon start
    workflow=$(two_trainings | submit)
    while [ $kills -lt 20 ]; do
        sleep "$((RANDOM % 2)).$((RANDOM % 10))"
        daemon_kill
        kills=$((kills + 1))
        phasectl daemon start
        ! state "$workflow" succeeded || break
    done
    eventually 120 state "$workflow" succeeded
    [ $kills = 20 ]
    for phase in train again; do
        [ "$(line_count "$PHASED_HOME/runs/$workflow/$phase/out/executed")" = 1 ]
        cmp "$REFERENCE/step_000400.ckpt" \
            "$PHASED_HOME/runs/$workflow/$phase/out/step_000400.ckpt"
    done
    [ "$(record 'SELECT group_concat(outcome) FROM run')" = succeeded,succeeded ]
    [ "$(record 'SELECT count(DISTINCT step) FROM metric WHERE run = 1')" = 400 ]
    jobs_agree
}
