#!/usr/bin/env bats
# The daemon is killed (SIGKILL, by PHASED_CRASH) right before or right after each effect of a
# workflow of two phases, and is started again. No phase is lost and no phase runs twice, by the
# counts of Slurm, of the record and of the programs themselves.

load phased.bash
load training.bash

setup_file() {
    sandbox_up 2
    sed -i 's/^MinJobAge=.*/MinJobAge=3600/' "$SLURM_CONF" # each test asks for all its jobs at its end
    scontrol reconfigure
}
teardown_file() { sandbox_down; }
setup() { home_up; }
teardown() { home_down; }

daemon_is_gone() {
    ! daemon_pid
}

gone_or_done() {
    daemon_is_gone || state 1 succeeded
}

# crash_at POINT: runs one workflow. A daemon dies at this point, and another daemon takes over.
crash_at() {
    local jobs
    if [[ $1 = commit:* ]]; then # the first commit of a home records its cluster
        phasectl daemon start
        eventually 60 has_cluster
        phasectl daemon stop
    fi
    PHASED_CRASH=$1 phasectl daemon start
    [[ $1 != submit:* ]] || eventually 60 has_cluster # else the first submission does nothing
    two_phases >"$PHASED_HOME/spec.yaml"
    phasectl submit "$PHASED_HOME/spec.yaml" || true # it may have died before it answered
    eventually 60 gone_or_done
    daemon_is_gone # else this point does not exist in the workflow
    phasectl daemon start
    # A submission that was not committed was reported as failed: the user must repeat it.
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

@test "a home survives a daemon that is killed before or after it records its cluster" {
    local when
    for when in before after; do
        PHASED_CRASH=commit:1:$when phasectl daemon start || true # it may have answered before
        eventually 60 daemon_is_gone
        phasectl daemon start
        eventually 60 has_cluster
        phasectl daemon stop
        home_down
        home_up
    done
}

@test "a workflow survives a daemon that is killed before the first commit" { crash_at commit:1:before; }
@test "a workflow survives a daemon that is killed after the first commit" { crash_at commit:1:after; }
@test "a workflow survives a daemon that is killed before the submission" { crash_at submit:1:before; }
@test "a workflow survives a daemon that is killed after the submission" { crash_at submit:1:after; }
@test "a workflow survives a daemon that is killed before it tells the lead to go on" { crash_at tell-next:1:before; }
@test "a workflow survives a daemon that is killed after it told the lead to go on" { crash_at tell-next:1:after; }
@test "a workflow survives a daemon that is killed before it tells the lead to leave" { crash_at tell-end:1:before; }
@test "a workflow survives a daemon that is killed after it told the lead to leave" { crash_at tell-end:1:after; }

# The same training twice, one after the other in one allocation. A last phase waits for the test to
# have killed the daemon as often as it wants to.
two_trainings() {
    training | sed 's/iterations: 150/iterations: 400/'
    cat <<SPEC
  again:
    extends: train
    after: train
  last:
    after: again
    resources: {nodes: 1, gpus: h100:1, time: 30m}
    run: |
      echo "\$SLURM_JOB_ID" >>"\$PHASED_OUT/executed"
      until [ -e "$PHASED_HOME/enough" ]; do sleep 0.3; done
SPEC
}

@test "a workflow whose daemon is killed at 20 random moments ends like an undisturbed workflow" {
    local seed=${PHASED_SEED:-$RANDOM} phase
    echo "# PHASED_SEED=$seed repeats it"
    RANDOM=$seed
    reference_up 400
    phasectl daemon start
    workflow=$(two_trainings | submit)
    for _ in {1..20}; do
        sleep "$((RANDOM % 2)).$((RANDOM % 10))"
        daemon_kill
        phasectl daemon start
    done
    touch "$PHASED_HOME/enough"
    eventually 120 state "$workflow" succeeded
    for phase in train again; do
        [ "$(line_count "$PHASED_HOME/runs/$workflow/$phase/out/executed")" = 1 ]
        cmp "$REFERENCE/step_000400.ckpt" \
            "$PHASED_HOME/runs/$workflow/$phase/out/step_000400.ckpt"
    done
    [ "$(record 'SELECT group_concat(outcome) FROM run')" = succeeded,succeeded,succeeded ]
    [ "$(record 'SELECT count(DISTINCT step) FROM metric WHERE run = 1')" = 400 ]
    jobs_agree
}
