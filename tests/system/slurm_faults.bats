#!/usr/bin/env bats
# What goes wrong in Slurm itself: nodes that cannot launch a job.

load phased.bash
load training.bash

setup_file() {
    sandbox_up 2
    reference_up
    export BROKEN=$SANDBOX/broken # the node whose Prolog fails; no such file: none
    cat >"$SANDBOX/prolog" <<PROLOG
#!/bin/sh
[ "\$SLURMD_NODENAME" != "\$(cat "$BROKEN" 2>/dev/null)" ]
PROLOG
    chmod 755 "$SANDBOX/prolog"
    echo "Prolog=$SANDBOX/prolog" >>"$SLURM_CONF"
    scontrol reconfigure
}
teardown_file() { sandbox_down; }
setup() { home_up; }
teardown() {
    rm -f "$BROKEN"
    "$SRC/etc/sandbox/sandbox" start "$SANDBOX" --nodes 2 >/dev/null
    scontrol update NodeName=n1,n2 State=RESUME 2>/dev/null || true
    home_down
}

@test "a job that Slurm holds since a Prolog failed is replaced, and the next one runs elsewhere" {
    phasectl daemon start
    echo n1 >"$BROKEN"
    workflow=$(training | submit)
    eventually 120 state "$workflow" succeeded
    [ "$(record 'SELECT outcome, cause FROM run WHERE attempt = 1')" = 'failed|launch' ]
    [ "$(record 'SELECT count(*) FROM run')" = 2 ]
    [ -z "$(squeue -h -o %i)" ]
    same_weights "$workflow"
    [[ "$(phasectl why "$workflow/train")" = *"failed: launch"*"held by Slurm"* ]]
}
