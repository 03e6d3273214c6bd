#!/usr/bin/env bats
# phasectl doctor: what it says of a real Slurm, of a home and of this machine. No daemon runs,
# except where a test starts one. The last tests change the sandbox of this file.

bats_require_minimum_version 1.5.0
load phased.bash

setup_file() { sandbox_up 1; }
teardown_file() {
    [ ! -f "$SANDBOX/stopped" ] || kill -CONT "$(cat "$SANDBOX/stopped")" || true
    sandbox_down
}

setup() {
    home_up
    unset "${!SBATCH_@}"
}
teardown() {
    [ -n "${BATS_TEST_COMPLETED:-}" ] ||
        for partition in third fourth; do scontrol delete PartitionName=$partition 2>/dev/null || true; done
    home_down
}

# found SEVERITY WHAT TEXT: the JSON output has such a finding. TEXT is a regular expression.
found() {
    gojq -e --arg severity "$1" --arg what "$2" --arg seen "$3" \
        'any(.[]; .severity == $severity and .what == $what and (.seen | test($seen)))' <<<"$output" >/dev/null ||
        { gojq -r '.[] | "\(.severity) \(.what): \(.seen)"' <<<"$output" && false; }
}

@test "a good Slurm without a daemon gives no error, and doctor makes and queues nothing" {
    run -0 --separate-stderr phasectl doctor --json
    found ok controller "^Slurm [0-9.]+, cluster sandbox, let you in" ||
        found warning controller "^Slurm [0-9.]+, cluster sandbox, let you in and answered after" # a busy machine
    found ok release "^phased uses the module for Slurm"
    found ok slurm.conf "can use"
    found ok home "only you can write to $PHASED_HOME"
    found ok prod "1 node \(0 away\), 1 x gpu:h100:8, jobs of any length"
    found note preempt "preempted for partition prod, 5 s after a warning"
    found ok submit "^2 of 2 partitions would take a job"
    found note daemon "no daemon runs"
    [ -z "$stderr" ]
    [ -z "$(ls -A "$PHASED_HOME")" ]
    [ -z "$(squeue -h)" ]
    run -0 phasectl doctor
    [[ ${lines[-1]} == "0 errors, "* ]]
}

@test "a parent that ignores the end of its children hides nothing from phasectl" {
    run -0 --separate-stderr python3 -c 'import os, signal
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execvp("phasectl", ["phasectl", "doctor", "--json"])'
    found ok submit "^2 of 2 partitions would take a job"
    found ok slurm.conf "can use"
}

@test "doctor warns of a host name that leads workers nowhere" {
    PHASED_DAEMON_HOST=nowhere.invalid phasectl daemon start
    run -0 phasectl doctor --json
    found warning port "nowhere.invalid"
}

@test "doctor checks the daemon, the record and the files of the user" {
    phasectl daemon start
    echo 'jobs: many' >"$PHASED_HOME/limits.yaml"
    echo 'failures: 7' >"$PHASED_HOME/failures.yaml"
    run -1 phasectl doctor --json
    found ok daemon "^phased [0-9.]+ runs \(pid [0-9]+\)$"
    found ok port "^workers are answered at .+:[0-9]+ "
    found ok record "^schema [0-9]+ of [0-9]+, 0 MiB"
    found error limits.yaml "limits.yaml:1:"
    found warning failures.yaml "failures.yaml:"
    phasectl daemon stop
    rm "$PHASED_HOME"/*.yaml
    sqlite3 "$PHASED_HOME/phased.db" 'PRAGMA user_version = 9999'
    run -1 phasectl doctor --json
    found error record "a newer phased wrote"
    sqlite3 "$PHASED_HOME/phased.db" 'PRAGMA user_version = 10'
    run -1 phasectl doctor --json
    found error record "^an old phased wrote the record \(schema 10; this phased knows 11 and later\)$"
}

@test "doctor tells a daemon that runs another program than the one beside phasectl" {
    local folder=$PHASED_HOME/build
    mkdir -p "$folder/bin"
    ln -s "$BIN/../lib" "$BIN/../libexec" "$BIN/../share" "$folder/"
    cp "$BIN"/phase* "$folder/bin/"
    "$folder/bin/phasectl" daemon start
    run -0 "$folder/bin/phasectl" doctor --json
    found ok daemon "^phased [0-9.]+ runs \(pid [0-9]+\)$"
    cp "$BIN/phased" "$folder/new"
    mv "$folder/new" "$folder/bin/phased"
    run -0 "$folder/bin/phasectl" doctor --json
    found warning daemon "runs \(pid [0-9]+\), but it is not the program that is beside phasectl now$"
    "$folder/bin/phasectl" daemon stop
    "$folder/bin/phasectl" daemon start
    run -0 "$folder/bin/phasectl" doctor --json
    found ok daemon "^phased [0-9.]+ runs"
}

@test "a home that others may write to is an error, and a missing home is not" {
    chmod 770 "$PHASED_HOME"
    chgrp 65534 "$PHASED_HOME" || chmod 777 "$PHASED_HOME" # an ordinary user has no other group
    run -1 phasectl doctor --json
    found error home "others may write to $PHASED_HOME"
    chmod 700 "$PHASED_HOME"
    PHASED_HOME=$PHASED_HOME/none run -0 phasectl doctor --json
    found note home "none does not exist yet"
    [ ! -e "$PHASED_HOME/none" ]
}

@test "a home on a small file system is an error" {
    mount -t tmpfs -o size=1m,nr_inodes=50 none "$PHASED_HOME" 2>/dev/null || skip "this user cannot mount"
    run -1 phasectl doctor --json
    umount "$PHASED_HOME"
    found error space "^[0-9.]+ ([KM]iB|bytes) free"
    found error inodes "more files fit"
    found warning home "tmpfs"
}

@test "systemd that ends processes at logout, and an exceeded quota, are warnings" {
    mkdir "$PHASED_HOME/bin"
    printf '#!/bin/sh\necho b true\n' >"$PHASED_HOME/bin/busctl"
    printf '#!/bin/sh\necho "Disk quotas for user: 9 of 8 GB"\nexit 1\n' >"$PHASED_HOME/bin/quota"
    chmod +x "$PHASED_HOME"/bin/*
    [ ! -e "/var/lib/systemd/linger/$(id -un)" ] || skip "this user lingers"
    PATH=$PHASED_HOME/bin:$PATH run -0 phasectl doctor --json
    found warning logout "ends when you log out"
    found warning quota "9 of 8 GB"
}

@test "variables of sbatch are named, and do not affect the test of the partitions" {
    SBATCH_PARTITION=nowhere SBATCH_ACCOUNT=me run -0 phasectl doctor --json
    found note environment "SBATCH_PARTITION, SBATCH_ACCOUNT|SBATCH_ACCOUNT, SBATCH_PARTITION"
    found ok submit "^2 of 2 partitions"
}

@test "doctor shows Slurm's own message to a user who may use no partition" {
    mkdir "$PHASED_HOME/bin"
    printf '#!/bin/sh\necho "allocation failure: Invalid account" >&2\nexit 1\n' >"$PHASED_HOME/bin/sbatch"
    chmod +x "$PHASED_HOME/bin/sbatch"
    PATH=$PHASED_HOME/bin:$PATH run -1 phasectl doctor --json
    found warning prod "^Slurm refuses a job of one GPU: allocation failure: Invalid account"
    found error submit "no partition takes your jobs"
    printf '#!/bin/sh\nexec sleep 1000\n' >"$PHASED_HOME/bin/sbatch"
    PATH=$PHASED_HOME/bin:$PATH run -0 phasectl doctor --json
    found warning preempt "cannot tell whether you may submit: sbatch did not end within 15 s"
    [ "$(gojq '[.[] | select(.what == "submit")] | length' <<<"$output")" = 0 ]
}

@test "partitions that were not tried are counted, and may take jobs" {
    mkdir "$PHASED_HOME/bin"
    printf '#!/bin/sh\nsleep 5\necho "Invalid account" >&2\nexit 1\n' >"$PHASED_HOME/bin/sbatch"
    chmod +x "$PHASED_HOME/bin/sbatch"
    scontrol create PartitionName=third Nodes=ALL State=UP
    scontrol create PartitionName=fourth Nodes=ALL State=UP
    PATH=$PHASED_HOME/bin:$PATH run -0 phasectl doctor --json
    scontrol delete PartitionName=third
    scontrol delete PartitionName=fourth
    found warning preempt "^Slurm refuses a job of one GPU: Invalid account" ||
        found warning prod "^Slurm refuses a job of one GPU: Invalid account" # the order is Slurm's
    found note partitions "^[0-9]+ partitions? (was|were) not tried"
    [ "$(gojq '[.[] | select(.what == "submit")] | length' <<<"$output")" = 0 ]
}

@test "a Slurm that cannot be found is an error with its reason" {
    SLURM_CONF=$PHASED_HOME/none.conf run -1 phasectl doctor --json
    found error slurm.conf "^cannot read $PHASED_HOME/none.conf, which SLURM_CONF names"
    [ "$(gojq '[.[] | select(.severity == "error")] | length' <<<"$output")" = 1 ]
}

# --- Tests that change the sandbox ---------------------------------------------------------------

# has_setting PATTERN: the controller has read its configuration again.
has_setting() {
    scontrol show config | grep -q "$1"
}

@test "settings that harm runs are reported with advice" {
    sed -i -e 's/^MinJobAge=.*/MinJobAge=5/' -e 's/^KillWait=.*/KillWait=2/' \
        -e 's/PreemptMode=REQUEUE GraceTime=5/PreemptMode=CANCEL GraceTime=0/' \
        "$SLURM_CONF"
    scontrol reconfigure
    eventually 60 has_setting '^MinJobAge *= 5 '
    run -0 phasectl doctor --json
    found warning MinJobAge "^Slurm forgets a job 5 s after its end"
    found note KillWait "2 s between TERM and KILL"
    found warning preempt "without a warning \(GraceTime is 0\)"
    found note preempt "are cancelled \(PreemptMode\)"
    gojq -e 'all(.[]; .severity != "warning" or .advice != null)' <<<"$output"
}

@test "a controller that hangs is an error, and doctor asks it nothing more" {
    cp "$SANDBOX/pid/slurmctld" "$SANDBOX/stopped"
    kill -STOP "$(cat "$SANDBOX/stopped")"
    run -1 phasectl doctor --json
    kill -CONT "$(cat "$SANDBOX/stopped")"
    rm "$SANDBOX/stopped"
    found error controller "scontrol" # Slurm gives up after 10 s
    [ "$(gojq '[.[] | select(.what == "controller" or .what == "submit")] | length' <<<"$output")" = 1 ]
}

@test "without a controller there is an error, and the other findings are still reported" {
    local pid
    pid=$(cat "$SANDBOX/pid/slurmctld")
    kill "$pid"
    eventually 60 process_has_ended "$pid"
    run -1 phasectl doctor --json
    found error controller "scontrol"
    found ok home "only you"
}
