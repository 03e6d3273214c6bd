#!/usr/bin/env bats
# The daemon as a program: its options, its sockets with bad input, its start without Slurm, and
# its stop.

bats_require_minimum_version 1.5.0
load phased.bash

setup_file() { sandbox_up 2; }
teardown_file() { sandbox_down; }
setup() { home_up; }
teardown() {
    home_down
}

ask() { # METHOD PATH [CURL OPTION...]: status and body over the Unix socket
    curl -s --max-time 30 -w '%{http_code} ' --unix-socket "$PHASED_HOME/phased.sock" -X "$1" \
        "${@:3}" "http://localhost$2"
}

worker_url() {
    gojq -r '"http://\(.host):\(.port)"' "$PHASED_HOME/daemon.json"
}

job_state() { # of the first workflow's only job
    squeue -h -j "$(record 'SELECT slurm_id FROM job')" -o %T
}

in_state() {
    [ "$(job_state)" = "$1" ]
}

sleeper() {
    cat <<'SPEC'
name: sleeper
phases:
  only:
    resources: {nodes: 1, gpus: h100:1, time: 10m}
    launch: node
    run: |
      echo started
      while [ ! -e "$PHASED_OUT/go" ]; do sleep 0.1; done
SPEC
}

@test "phased prints its help and version to standard output, and exits with 2 for an unknown option" {
    run phased --help
    [ "$status" = 0 ]
    [[ $output == usage:* ]]
    run phased --version
    [ "$status" = 0 ]
    [[ ${lines[0]} == phased\ [0-9]* && ${lines[1]} =~ ^module\ for\ Slurm\ [0-9.]+:\ / ]]
    [[ ${lines[2]} == "libslurm: /"*/libslurm.so.* ]]
    run phased --elephant
    [ "$status" = 2 ]
    run phased elephant
    [ "$status" = 2 ] && [[ $output == *elephant* ]]
}

@test "without a configuration of Slurm phased says so and exits with 1" {
    SLURM_CONF=$PHASED_HOME/nothing.conf run timeout 60 phased --home "$PHASED_HOME"
    [ "$status" = 1 ]
    [[ $output == *nothing.conf* ]]
    [ ! -e "$PHASED_HOME/phased.sock" ]
}

# Makes programs without a module in the folder $1. What builds a module lies beside them.
without_module() {
    mkdir -p "$1/bin" "$1/lib/phased"
    cp "$BIN/phased" "$BIN/phasectl" "$BIN/phase-worker" "$1/bin/"
    cp -r "$BIN/../lib/phased/build-slurm" "$BIN/../lib/phased/source" "$1/lib/phased/"
}

@test "without a module for Slurm phased says so, and build-slurm builds one that runs a job" {
    local programs=$PHASED_HOME/programs slurm
    slurm=$(scontrol --version | cut -d ' ' -f 2)
    without_module "$programs"
    run "$programs/bin/phased" --version
    [ "$status" = 0 ]
    [[ ${lines[1]} == "no Slurm: "*" for Slurm $slurm: "*"(there are no modules)" ]]
    run "$programs/bin/phasectl" daemon start
    [ "$status" = 1 ]
    [[ $output == *"build one with \`phasectl daemon build-slurm\`"* ]]
    run "$programs/bin/phasectl" doctor --json
    gojq -e 'any(.[]; .severity == "error" and .what == "module")' <<<"$output"
    # Half a module of another release does not help, and does no harm.
    mkdir -m 700 "$PHASED_HOME/slurm"
    head -c 5000 "$BIN/../lib/phased/"phased-slurm-*.so >"$PHASED_HOME/slurm/phased-slurm-99.05.so"
    run "$programs/bin/phasectl" daemon start
    [ "$status" = 1 ]
    [[ $output == *"phased-slurm-99.05.so: the file is cut off"* ]]

    "$programs/bin/phasectl" daemon build-slurm
    [[ $("$programs/bin/phased" --version) == *": $PHASED_HOME/slurm/phased-slurm-"* ]]
    "$programs/bin/phasectl" daemon start
    sleeper >"$PHASED_HOME/sleeper.yaml"
    "$programs/bin/phasectl" submit "$PHASED_HOME/sleeper.yaml"
    eventually 60 in_state RUNNING
    "$programs/bin/phasectl" cancel 1
    "$programs/bin/phasectl" daemon stop
}

@test "build-slurm names what it lacks, and leaves no file" {
    CC=no-compiler run phasectl daemon build-slurm
    [ "$status" = 1 ]
    [[ $output == *"there is no C compiler 'no-compiler'"* ]]
    run phasectl daemon build-slurm --headers "$PHASED_HOME"
    [ "$status" = 1 ]
    [[ $output == *"there is no slurm/slurm.h in $PHASED_HOME"* ]]
    run phasectl daemon build-slurm --prefix "$PHASED_HOME"
    [ "$status" = 1 ]
    [[ $output == *"there is no libslurm.so in $PHASED_HOME/lib64"* ]]
    # Headers of another release than the library.
    local headers
    mkdir -p "$PHASED_HOME/other/slurm"
    headers=$(cc -M -include slurm/slurm.h -x c /dev/null | tr ' ' '\n' | grep '/slurm/slurm\.h$')
    cp "${headers%/*}"/*.h "$PHASED_HOME/other/slurm/"
    sed -i 's/^#define SLURM_VERSION_NUMBER .*/#define SLURM_VERSION_NUMBER 0x140b05/' \
        "$PHASED_HOME/other/slurm/slurm_version.h"
    run phasectl daemon build-slurm --headers "$PHASED_HOME/other"
    [ "$status" = 1 ]
    [[ $output == *"the headers are of Slurm 20.11.5, and "*" is of Slurm "* ]]
    [ -z "$(ls -A "$PHASED_HOME/slurm")" ]
    run phasectl daemon start --prefix /opt/slurm
    [ "$status" = 2 ]
}

@test "a home that others may write to, or that contains a link, is refused with the reason" {
    mkdir "$PHASED_HOME/elsewhere"
    ln -s elsewhere/file "$PHASED_HOME/phased.log"
    run phasectl daemon start
    [ "$status" = 1 ]
    [[ $output == *"phased.log is a link, and phased would write where it leads: remove it" ]]
    [ ! -e "$PHASED_HOME/elsewhere/file" ]
    rm "$PHASED_HOME/phased.log"
    chmod 777 "$PHASED_HOME"
    for command in "phasectl daemon start" "phasectl status" "phasectl sandbox status" "timeout 60 phased"; do
        run $command
        [ "$status" = 1 ]
        [[ $output == *"others may write to $PHASED_HOME"* ]]
    done
    chmod 755 "$PHASED_HOME"
    phasectl daemon start
    [ "$(stat -c %a "$PHASED_HOME")" = 700 ]
}

@test "a home whose path has control characters or is not UTF-8 is refused with the reason" {
    for home in "$PHASED_HOME"/$'a\nb' "$PHASED_HOME"/$'a\xff'; do
        PHASED_HOME=$home run phasectl daemon start
        [ "$status" = 1 ]
        [[ $output == *"its path must be UTF-8 without control characters"* ]]
        run timeout 60 phased --home "$home"
        [ "$status" = 1 ]
        [[ $output == *"its path must be UTF-8 without control characters"* ]]
    done
}

notes() { phasectl status | grep -qF "$1"; }

@test "phased does not write to a run's folder that is a link" {
    phasectl daemon start
    mkdir -p "$PHASED_HOME/runs/1" "$PHASED_HOME/elsewhere"
    ln -s ../../elsewhere "$PHASED_HOME/runs/1/only"
    sleeper | submit
    eventually 60 notes 'runs/1/only is not a folder: remove it'
    [ -z "$(ls -A "$PHASED_HOME/elsewhere")" ]
}

@test "stop works even if the daemon's parent never reaps it, as in a container without an init" {
    cat >"$PHASED_HOME/start_and_stop" <<'PYTHON'
import ctypes, subprocess
PR_SET_CHILD_SUBREAPER = 36
assert ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
for word in ("start", "stop"):
    subprocess.run(["phasectl", "daemon", word], check=True)
PYTHON
    python3 "$PHASED_HOME/start_and_stop" >"$PHASED_HOME/said"
    grep -x 'phased stopped' "$PHASED_HOME/said"
}

@test "a clock that is set does not shorten the wait for a daemon that is starting" {
    local library=(/usr/lib*/*/faketime/libfaketime.so.1)
    [ -e "${library[0]}" ] || skip "there is no libfaketime"
    mkdir "$PHASED_HOME/bin"
    cp "$BIN/phasectl" "$PHASED_HOME/bin/"
    # The calendar passes a thousand seconds in one second.
    printf '#!/bin/sh\nunset LD_PRELOAD\nsleep 1\nexit 4\n' >"$PHASED_HOME/bin/phased"
    chmod 755 "$PHASED_HOME/bin/phased"
    LD_PRELOAD=${library[0]} FAKETIME='+0 x1000' FAKETIME_DONT_FAKE_MONOTONIC=1 \
        run "$PHASED_HOME/bin/phasectl" daemon start
    [[ $output == *"phased ended with exit code 4"* ]]
}

# lock_record LOCK: another program takes the lock of SQLite, when no daemon writes, and hears its
# commands from LOCKER.
lock_record() {
    local line
    coproc LOCKER { sqlite3 -cmd '.timeout 20000' "$PHASED_HOME/phased.db" 2>&1; }
    # shellcheck disable=SC2153
    echo "BEGIN $1; SELECT 'locked';" >&"${LOCKER[1]}"
    read -r -t 30 line <&"${LOCKER[0]}"
    [ "$line" = locked ]
}

unlock_record() {
    echo "COMMIT;" >&"${LOCKER[1]}"
    echo ".quit" >&"${LOCKER[1]}"
}

# start_with_locked_record LOCK: the daemon is started by the process $starter, whose words are in
# the file `said`, while another program has the lock.
start_with_locked_record() {
    phasectl daemon start
    phasectl daemon stop
    lock_record "$1"
    phasectl daemon start >"$PHASED_HOME/said" 2>&1 3>&- &
    starter=$!
}

@test "the daemon waits for a record that another program has locked, and says so" {
    start_with_locked_record IMMEDIATE
    eventually 60 grep "another program has the record .*/phased.db locked.*: waiting for it, at most 60 s" "$PHASED_HOME/said"
    grep "another program has the record" "$PHASED_HOME/phased.log"
    run phasectl doctor --json
    gojq -e 'any(.[]; .severity == "error" and .what == "daemon" and (.seen | test("is starting or ending")))' <<<"$output"
    unlock_record
    wait "$starter"
    grep "phased .* started" "$PHASED_HOME/said"
}

@test "stop waits for a daemon that is starting, and other verbs say that it starts" {
    start_with_locked_record EXCLUSIVE
    eventually 60 grep "another program has the record" "$PHASED_HOME/said"
    local words
    for words in status 'daemon status' 'daemon start --as-job'; do
        # shellcheck disable=SC2086
        run phasectl $words
        [ "$status" = 1 ]
        [ "$output" = "phasectl: the daemon of $PHASED_HOME is starting or ending, or does not answer on its host" ]
    done
    phasectl daemon stop >"$PHASED_HOME/stopped" 2>&1 3>&- &
    local stopper=$!
    eventually 60 grep "is starting or ending, .*: waiting for it, at most 90 s" "$PHASED_HOME/stopped"
    unlock_record
    wait "$stopper"
    [ "$(tail -n 1 "$PHASED_HOME/stopped")" = 'phased stopped' ]
    wait "$starter" || true # it may not have seen the daemon between its start and its end
    run phasectl daemon stop
    [ "$output" = 'phased is not running' ]
}

# The stop finds no socket, and goes on when strace ends, after the daemon has started.
@test "a daemon that starts while it is told to stop is not taken for one on another host" {
    command -v strace >/dev/null || skip 'strace is not installed'
    strace -o "$PHASED_HOME/calls" -e trace=connect -e inject=connect:delay_exit=900000000:when=1 \
        "$BIN/phasectl" daemon stop >"$PHASED_HOME/stopped" 2>&1 3>&- &
    local strace=$!
    eventually 60 grep 'ENOENT' "$PHASED_HOME/calls"
    phasectl daemon start
    kill -KILL "$strace"
    eventually 60 test -s "$PHASED_HOME/stopped"
    [ "$(cat "$PHASED_HOME/stopped")" = 'phased stopped' ]
}

@test "a lock on the record delays a running daemon, and nothing is lost" {
    phasectl daemon start
    lock_record IMMEDIATE
    sleeper >"$PHASED_HOME/spec.yaml"
    run phasectl submit "$PHASED_HOME/spec.yaml" # not promised
    [ "$status" = 1 ]
    [[ $output == *"locked"* ]]
    unlock_record
    is_writable() { ! phasectl daemon status | grep "cannot be written"; }
    eventually 60 is_writable
    workflow=$(sleeper | submit)
    eventually 60 in_state RUNNING
    phasectl cancel "$workflow"
    eventually 60 state "$workflow" cancelled
}

@test "a daemon that starts on a full disk says so" {
    [ "$(id -u)" = 0 ] || skip "a file system of its own takes root"
    disk=$PHASED_HOME/disk
    mkdir "$disk"
    mount -t tmpfs -o size=4m,mode=0700 tmpfs "$disk" || skip "no file system can be mounted here"
    (
        PHASED_HOME=$disk
        phasectl daemon start && phasectl daemon stop && rm -f "$disk/phased.db-wal"
        dd if=/dev/zero of="$disk/ballast" bs=4k 2>/dev/null
        dd if=/dev/zero of="$disk/crumbs" bs=1 count=4096 2>/dev/null
        phasectl daemon start
    ) >"$PHASED_HOME/said" 2>&1 && code=0 || code=$?
    umount -l "$disk"
    cat "$PHASED_HOME/said"
    [ "$code" = 1 ]
    grep -E "^phasectl: phased did not start: .*(the disk is full|No space left on device)" "$PHASED_HOME/said"
}

@test "garbage on the sockets does no harm" {
    phasectl daemon start
    head -c 100000 /dev/urandom | timeout 10 socat -t 2 - "UNIX:$PHASED_HOME/phased.sock" >/dev/null || true
    printf 'GET / HTTP/9.9\r\n\r\n' | timeout 10 socat -t 2 - "UNIX:$PHASED_HOME/phased.sock" >/dev/null || true
    head -c 100000 /dev/urandom | timeout 10 socat -t 2 - \
        "TCP:$(gojq -r '"\(.host):\(.port)"' "$PHASED_HOME/daemon.json")" >/dev/null || true
    [[ $(ask GET /v1/ping) == *'"version"'* ]]
    [[ $(ask POST /v1/workflows -d '{{{') == *bad_request*400* ]]
}

@test "a request body that is too large is refused before it is read" {
    phasectl daemon start
    truncate -s 20M "$PHASED_HOME/large"
    run ask POST /v1/workflows -H 'Expect:' --data-binary "@$PHASED_HOME/large"
    [[ $output == *413* ]] || [[ $output == 000* ]]
    [[ $(ask GET /v1/ping) == *'"version"'* ]]
}

@test "a worker must know the secret of its run, and the owner the key, on the port for workers" {
    phasectl daemon start
    sleeper | submit
    eventually 60 test -s "$PHASED_HOME/runs/1/only/1/secret"
    run curl -s -w '%{http_code}' "$(worker_url)/v1/worker/1/command"
    [[ $output == *403 ]]
    run curl -s -w '%{http_code}' -H "Phased-Nonce: $(printf '0%.0s' {1..32})" \
        -H "Phased-MAC: $(printf '0%.0s' {1..64})" "$(worker_url)/v1/worker/1/command"
    [[ $output == *403 ]]
    run curl -s -w '%{http_code}' "$(worker_url)/v1/workflows"
    [[ $output == *401 ]]
    [[ $output != *sleeper* ]]
    run curl -s -w '%{http_code}' -X POST "$(worker_url)/v1/workflows/1/cancel" -d '{}'
    [[ $output == *401 ]]
    [ "$(stat -c %a "$PHASED_HOME/phased.sock")" = 600 ]
    [ "$(stat -c %a "$PHASED_HOME/runs/1/only/1/secret")" = 600 ]
    [ "$(stat -c %a "$PHASED_HOME/key")" = 600 ]
    phasectl cancel 1
}

@test "the daemon finds a controller that has moved, and starts again with the same process id" {
    phasectl daemon start
    local pid began id
    pid=$(daemon_pid)
    began=$(phasectl daemon status --json | gojq .started)
    two_phases >"$PHASED_HOME/spec.yaml"
    sed -i 's/^SlurmctldHost/#&/' "$SLURM_CONF" # which nobody can use
    phasectl plan "$PHASED_HOME/spec.yaml"
    [ "$(phasectl daemon status --json | gojq .started)" = "$began" ]
    sed -i 's/^#SlurmctldHost/SlurmctldHost/' "$SLURM_CONF"
    "$SRC/etc/sandbox/sandbox" stop "$SANDBOX"
    sed -i 's/^SlurmctldPort=.*/SlurmctldPort=9817/' "$SLURM_CONF" # a start takes the port from there
    "$SRC/etc/sandbox/sandbox" start "$SANDBOX" --nodes 2
    is_submitted() { id=$(two_phases | submit) && [ -n "$id" ]; }
    eventually 60 is_submitted # not while the daemon begins anew
    eventually 90 state "$id" succeeded
    [ "$(daemon_pid)" = "$pid" ]
    [ "$(phasectl daemon status --json | gojq .started)" != "$began" ]
    [ "$(line_count "$PHASED_HOME/runs/$id/first/out/executed")" = 1 ]
}

@test "a daemon that executes itself is not said to have ended" {
    local programs=$PHASED_HOME/programs pid
    mkdir -p "$programs/bin"
    ln -s "$BIN/../lib" "$BIN/../libexec" "$BIN/../share" "$programs/"
    cp "$BIN"/phase* "$programs/bin/"
    "$programs/bin/phasectl" daemon start
    pid=$(daemon_pid)
    mv "$programs/bin/phased" "$programs/bin/before"
    cat >"$programs/bin/phased" <<SH
#!/bin/sh
case \$* in *--check-slurm*) exec "$BIN/phased" "\$@" ;; esac # first the daemon tries the configuration
touch "$PHASED_HOME/waits"
until [ -e "$PHASED_HOME/go" ]; do [ -d "$PHASED_HOME" ] || exit; sleep 0.1; done
exec "$BIN/phased" "\$@"
SH
    chmod +x "$programs/bin/phased"
    two_phases >"$PHASED_HOME/spec.yaml"
    echo "# changed" >>"$SLURM_CONF"
    phasectl plan "$PHASED_HOME/spec.yaml" || true # its question to Slurm shows the change
    eventually 60 test -e "$PHASED_HOME/waits"
    run phasectl daemon status
    [ "$status" = 1 ]
    [[ $output == *"is starting or ending"* ]]
    rm "$PHASED_HOME/phased.lock" # the daemon makes and locks another file
    touch "$PHASED_HOME/go"
    eventually 60 phasectl daemon status
    [ "$(daemon_pid)" = "$pid" ]
    [ "$(cat "$PHASED_HOME/phased.lock")" = "$pid" ]
    run -3 phased --home "$PHASED_HOME"
}

@test "a daemon whose process is stopped does not answer, and phasectl says how it goes on" {
    phasectl daemon start
    local pid id
    id=$(two_phases | submit)
    eventually 60 state "$id" succeeded
    pid=$(daemon_pid)
    kill -STOP "$pid"
    run phasectl daemon status
    [ "$status" = 1 ]
    [[ $output == *"phased (pid $pid) does not answer, because its process is stopped; 'kill -CONT $pid' lets it go on" ]]
    run phasectl daemon stop
    [ "$status" = 1 ]
    [[ $output == *"'kill -CONT $pid'"* ]]
    run --separate-stderr phasectl logs "$id/second" --no-time
    [ "$status" = 0 ]
    [ "$output" = 'step=1 loss=2' ]
    [[ $stderr == *"'kill -CONT $pid' lets it go on; reading the files of runs" ]]
    two_phases >"$PHASED_HOME/later.yaml"
    phasectl submit "$PHASED_HOME/later.yaml" 2>"$PHASED_HOME/said" 3>&- &
    local submit=$!
    eventually 60 grep -q "'kill -CONT $pid' lets it go on; waiting for it .*nothing is submitted" "$PHASED_HOME/said"
    kill -CONT "$pid"
    wait "$submit"
    [ "$(record 'SELECT count(*) FROM workflow')" = 2 ]
    [[ $(phasectl daemon status) == *"is running (pid $pid, "* ]]
}

@test "a test kills no process that has the number of a daemon that has ended" {
    bash -c 'exec -a "phase-worker node $1" sleep 1000' bash "$PHASED_HOME" 3>&- &
    OTHER=$!
    echo "{\"pid\":$OTHER}" >"$PHASED_HOME/daemon.json"
    eventually 60 grep -qz phase-worker "/proc/$OTHER/cmdline"
    run daemon_pid
    [ "$status" != 0 ]
    daemon_kill
    grep -qz phase-worker "/proc/$OTHER/cmdline"
}

@test "a daemon whose answer has no process number is not signalled" {
    mkdir -p "$PHASED_HOME"
    python3 - "$PHASED_HOME/phased.sock" 3>&- <<'PYTHON' &
import http.server, socketserver, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")
    def address_string(self):
        return ""
socketserver.UnixStreamServer(sys.argv[1], Handler).serve_forever()
PYTHON
    OTHER=$!
    eventually 60 ask GET /v1/ping
    run phasectl daemon stop
    kill "$OTHER"
    [ "$status" = 1 ]
    [[ $output == *'the answer of phased has no process number' ]]
}

@test "a job gets SLURM_CONF only if the daemon had it" {
    local mine=(unshare --user --map-current-user --keep-caps --mount)
    [ "$(id -u)" != 0 ] || mine=(unshare --mount)
    [ -d /etc/slurm ] && "${mine[@]}" mount --bind "$SANDBOX" /etc/slurm ||
        skip "needs namespaces of its own and /etc/slurm"
    env -u SLURM_CONF "${mine[@]}" sh -c "mount --bind '$SANDBOX' /etc/slurm && phasectl daemon start"
    sleeper | submit
    eventually 60 in_state RUNNING
    local environment
    environment=$(cat "$SANDBOX"/state/hash.*/job."$(record 'SELECT slurm_id FROM job')"/environment | tr '\0' '\n')
    [[ $environment == *SLURM_SUBMIT_DIR=* ]]
    [[ $environment != *SLURM_CONF=* ]]
    phasectl cancel 1
}
