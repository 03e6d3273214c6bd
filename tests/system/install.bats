#!/usr/bin/env bats
# make install: the installed programs work without the sources, and make uninstall leaves nothing.
# The daemon as a service of systemd.

bats_require_minimum_version 1.5.0
load phased

setup_file() {
    export BUILD=$BIN/..
    ROOT=$(mktemp -d /tmp/phased-test-XXXXXX)
    export ROOT MAKEFLAGS=
    make -C "$BUILD" install DESTDIR="$ROOT" >"$ROOT.log" 2>&1 || { tail "$ROOT.log" >&2; false; }
    PREFIX=$ROOT$(dirname "$(make -s -C "$BUILD" print-bindir)")
    export PREFIX
}

teardown_file() {
    is_of_test "$ROOT" || return 0
    rm -rf "$ROOT" "$ROOT.log"
}

setup() {
    home_up
    PATH=$PREFIX/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin
    unset SLURM_CONF
}

teardown() {
    end_jobs
    is_of_test "${PHASED_HOME:-}" || return 0
    [ ! -e "$PHASED_HOME/sandbox/slurm.conf" ] || export SLURM_CONF=$PHASED_HOME/sandbox/slurm.conf
    phasectl daemon stop >/dev/null 2>&1 || true
    phasectl sandbox stop >/dev/null 2>&1 || true
    home_down
}

with_slurm() {
    command -v slurmctld slurmd munged >/dev/null || skip "Slurm's daemons are not installed"
    phasectl sandbox start --pretend >/dev/null
}

@test "the installed programs train the demo from another folder, with nothing but PATH" {
    with_slurm
    cd /
    [ "$(command -v phasectl)" = "$PREFIX/bin/phasectl" ]
    phasectl daemon start >/dev/null
    run -0 env -i PATH="$PATH" PHASED_HOME="$PHASED_HOME" phasectl submit \
        "$PREFIX/share/doc/phased/examples/demo.yaml" --watch --set production.iterations=320
    [[ $output == *"workflow 1 (trm) succeeded after "* ]]
    # What ran is what was installed: the daemon, and the worker that it gave to Slurm.
    [ "$(readlink "/proc/$(daemon_pid)/exe")" = "$PREFIX/bin/phased" ]
    grep -rqF "$PREFIX/bin/phase-worker" "$PHASED_HOME/runs"
    ! grep -rlF "$SRC/" "$PHASED_HOME/runs"
}

@test "the data, the manual, the completions and the Python module are found in their places" {
    cd /
    run phase-preflight
    [[ $status = [013] ]] # 2: it has no thresholds
    for page in phased.1 phasectl.1 phase-worker.1 phase-model.1 phase-preflight.1 phased-spec.5 phased-failures.5; do
        [ -s "$PREFIX/share/man/man${page##*.}/$page" ]
    done
    run -0 bash -c '. "$1" && complete -p phasectl' bash "$PREFIX/share/bash-completion/completions/phasectl"
    run -0 env PYTHONPATH="$PREFIX/share/phased/python" python3 -Bc 'import phased; print(phased.__file__)'
    [ "$output" = "$PREFIX/share/phased/python/phased.py" ]
    run -3 "$PREFIX/libexec/phased/sandbox" status "$PREFIX/sandbox" # nothing was started
}

@test "the unit of systemd names the installed program, and systemd understands the unit" {
    local unit=$PREFIX/lib/systemd/user/phased.service
    grep -qx "ExecStart=${PREFIX#"$ROOT"}/bin/phased" "$unit"
    command -v systemd-analyze >/dev/null || skip "there is no systemd-analyze"
    sed "s|^ExecStart=|&$ROOT|" "$unit" >"$BATS_TEST_TMPDIR/phased.service"
    run -0 env XDG_RUNTIME_DIR="$BATS_TEST_TMPDIR" systemd-analyze --user --man=no verify \
        "$BATS_TEST_TMPDIR/phased.service"
    [ -z "$output" ]
}

@test "systemd hears that the daemon is ready, is not stuck, begins anew, and stops" {
    with_slurm
    local said=$PHASED_HOME/said pid
    phasectl daemon stop >/dev/null 2>&1 || true
    python3 "$SRC/tests/system/service.py" "$PHASED_HOME" phased >"$PHASED_HOME/log" 2>&1 3>&- &
    SERVICE=$!
    eventually 60 grep -qx 'READY=1' "$said"
    phasectl daemon status >/dev/null
    eventually 60 grep -qxF "STATUS=serves $PHASED_HOME; Slurm cluster sandbox answers" "$said"
    [ "$(head -n 2 "$said")" = $'WATCHDOG=1\nSTATUS=starting' ]

    # A second daemon does not serve this home, and says by its status that trying again is useless.
    run -3 phased
    [[ $output == *"another daemon serves this home"* ]]

    # A stopped process does not say that it is well.
    pid=$(daemon_pid)
    kill -STOP "$pid"
    eventually 60 grep -q '^State:.T' "/proc/$pid/status"
    printf 'MARK' | socat -u - "UNIX-SENDTO:$PHASED_HOME/notify" # what was said before is read before
    eventually 60 grep -qx MARK "$said"
    wc -l <"$said" >"$PHASED_HOME/lines"
    run ! eventually 1 more_lines "$said"
    kill -CONT "$pid"
    eventually 60 more_lines "$said"

    # The same process executes itself, and systemd is told again.
    echo "# changed" >>"$PHASED_HOME/sandbox/slurm.conf"
    eventually 60 grep -q 'beginning anew' "$PHASED_HOME/log"
    eventually 60 bash -c '[ "$(grep -c "^STATUS=starting" "$1")" = 2 ]' bash "$said"
    eventually 60 bash -c 'sed "1,/^STATUS=beginning anew/d" "$1" | grep -qx READY=1' bash "$said"
    [ "$(daemon_pid)" = "$pid" ]
    # Meanwhile the watchdog has patience, because the record may be large.
    [ "$(grep ^WATCHDOG_USEC "$said")" = $'WATCHDOG_USEC=600000000\nWATCHDOG_USEC=1000000' ]
    [ "$(grep -nx 'WATCHDOG_USEC=600000000' "$said" | cut -d: -f1)" -lt "$(grep -nx STATUS=starting "$said" | tail -n 1 | cut -d: -f1)" ]

    kill -TERM "$SERVICE"
    wait "$SERVICE"
    grep -qx 'STOPPING=1' "$said"
}

more_lines() {
    [ "$(wc -l <"$1")" -gt "$(cat "$PHASED_HOME/lines")" ]
}

@test "a job does not see the variables of systemd" {
    with_slurm
    python3 "$SRC/tests/system/service.py" "$PHASED_HOME" phased >"$PHASED_HOME/log" 2>&1 3>&- &
    SERVICE=$!
    eventually 60 grep -qx 'READY=1' "$PHASED_HOME/said"
    tr '\0' '\n' <"/proc/$(daemon_pid)/environ" | grep -q '^NOTIFY_SOCKET=' # as systemd gave it
    cat >"$PHASED_HOME/env.yaml" <<'SPEC'
name: env
phases:
  only:
    resources: {nodes: 1, gpus: h100:1, time: 10m}
    launch: node
    run: env
SPEC
    run -0 phasectl submit "$PHASED_HOME/env.yaml" --watch
    run -0 phasectl logs 1/only
    [[ $output == *PHASED_OUT=* ]]
    [[ $output != *NOTIFY_SOCKET* && $output != *WATCHDOG* ]]
}

@test "make uninstall leaves no file" {
    cp -r "$ROOT" "$BATS_TEST_TMPDIR/root"
    run -0 make -C "$BUILD" uninstall DESTDIR="$BATS_TEST_TMPDIR/root"
    [ -z "$(find "$BATS_TEST_TMPDIR/root" ! -type d)" ]
}
