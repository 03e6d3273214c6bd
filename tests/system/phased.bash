# Shared by the bats files about whole programs: each file has one sandbox, and each test has a
# home.
#
#   setup_file() { sandbox_up; }     teardown_file() { sandbox_down; }
#   setup() { home_up; }             teardown() { home_down; }

load ../system/process.bash

SRC=${SRC:-$(cd "$BATS_TEST_DIRNAME/../.." && pwd)}
BIN=${BIN:-$SRC/build/bin}
PATH=$BIN:$PATH:/usr/sbin
export PATH

# sandbox_up [NODES [TYPES]]
sandbox_up() {
    SANDBOX=$(mktemp -d /tmp/phased-test-XXXXXX)
    export SANDBOX SLURM_CONF=$SANDBOX/slurm.conf
    "$SRC/etc/sandbox/sandbox" start "$SANDBOX" --nodes "${1:-2}" --gpus "${2:-h100}" >/dev/null
}

sandbox_down() {
    is_of_test "${SANDBOX:-}" || return 0
    "$SRC/etc/sandbox/sandbox" stop "$SANDBOX" >/dev/null
    rm -rf "$SANDBOX"
}

# skip_all REASON: for setup_file, where bats 1.8 has no `skip`. `skips` in setup skips each test then.
skip_all() { export SKIP_ALL=$1; }
skips() { [ -z "${SKIP_ALL:-}" ] || skip "$SKIP_ALL"; }

# Sends SIGKILL, if the daemon runs, and waits for its end. Until then, the daemon has its lock.
daemon_kill() {
    local pid
    pid=$(daemon_pid) && kill -KILL "$pid" && eventually 60 process_has_ended "$pid"
    true
}

# Prints the pid of this home's daemon, or fails if no daemon runs. daemon.json stays when the
# daemon ends. Many tests at once make a system use a pid again after two minutes, maybe for a
# program of phased. A zombie has no program.
daemon_pid() {
    local pid
    [[ $(cat "$PHASED_HOME/daemon.json" 2>/dev/null) =~ \"pid\":([0-9]+) ]] && pid=${BASH_REMATCH[1]} &&
        [[ $(readlink "/proc/$pid/exe") =~ /phased( |$) ]] &&
        grep -qzsF "$PHASED_HOME" "/proc/$pid/environ" "/proc/$pid/cmdline" && echo "$pid"
}

# Makes a home without a daemon. `phasectl daemon start` starts one on the sandbox of the file.
home_up() {
    PHASED_HOME=$(mktemp -d /tmp/phased-home-XXXXXX)
    export PHASED_HOME
}

# Ends the background processes of a test that still run. The number of a process that has ended may
# belong to a process of another test by now.
end_jobs() {
    local pids
    pids=$(jobs -pr)
    [ -z "$pids" ] || kill $pids 2>/dev/null || true
}

home_down() {
    end_jobs
    is_of_test "${PHASED_HOME:-}" || return 0
    if [ -z "${BATS_TEST_COMPLETED:-}" ] && [ -f "$PHASED_HOME/phased.log" ]; then
        tail -n 40 "$PHASED_HOME/phased.log" | sed 's/^/# /' # only shown when the test failed
    fi
    phasectl daemon stop >/dev/null 2>&1 || true
    daemon_kill
    squeue -h -o '%i %k' 2>/dev/null | while read -r job _; do
        grep -qsF "$PHASED_HOME" <(scontrol show job "$job" 2>/dev/null) && scancel "$job"
    done || true
    eventually 60 rm -rf "$PHASED_HOME" # a job that is being cancelled may still write there
}

# page PAGE FOLDER [OPTION...]: does what the page says, in the folder.
page() {
    python3 "$SRC/tests/system/pages/page.py" "$SRC/$@"
}

# Nothing is ever written to this pipe, so reading it is a pause that costs no process.
exec {never}<> <(:)

# eventually SECONDS COMMAND...: repeats the command until it succeeds. A quick machine that is idle needs
# much less than SECONDS; the deadline is four times as long, for slow processors and many tests at once.
# The pauses grow to half a second, because each try costs processor time. On a slow machine the tries of
# many tests would take all the time: there a pause takes three times as long as the try, up to two seconds.
eventually() {
    local -
    set +T # bats traces each command of a function, for 0.3 ms. Without -T, bash traces no function
    eventually_untraced "$@"
}

eventually_untraced() {
    local deadline=$((SECONDS + 4 * $1)) pause_ms=100 begin took_ms pause
    shift
    until begin=${EPOCHREALTIME/[.,]/} && "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $deadline ] || return 1
        took_ms=$(((${EPOCHREALTIME/[.,]/} - begin) / 1000))
        pause_ms=$((pause_ms > 3 * took_ms ? pause_ms : took_ms > 666 ? 2000 : 3 * took_ms))
        printf -v pause '%d.%03d' $((pause_ms / 1000)) $((pause_ms % 1000))
        read -rt "$pause" -u "$never" || true
        pause_ms=$((pause_ms < 333 ? pause_ms * 3 / 2 : 500))
    done
}

# Whether the daemon knows its cluster. Before that, a submission to Slurm is put off.
has_cluster() { [ "$(record 'SELECT cluster FROM lease')" = sandbox ]; }

no_job_completes() { local jobs; jobs=$(squeue -h -t COMPLETING -o %i) && [ -z "$jobs" ]; }

# Waits until the jobs of earlier tests have left their nodes. Then Slurm takes the nodes in their order.
nodes_settle() { eventually 60 no_job_completes; }

# nodes_resume NODES: lets jobs use the nodes again. For `eventually`: a controller that has read
# its configuration anew refuses to resume a node until the node has registered.
nodes_resume() {
    local states
    scontrol update NodeName="$1" State=RESUME || true
    states=$(sinfo -h -N -n "$1" -o %T) && [ -n "$states" ] && ! grep -qE 'drain|down|unk|inval' <<<"$states"
}

# state ADDRESS WORD: whether a workflow or a phase is in this state. Members of the first level have
# two spaces before them. Tests ask this often, and a program for JSON takes more time than all the rest.
state() {
    [[ $(phasectl status "$1" --json 2>/dev/null) == *$'\n  "state": "'"$2"'"'* ]]
}

# past ADDRESS STEP: whether the newest run is beyond this step.
past() {
    [[ $(phasectl status "$1" --json) =~ $'\n  "step": '([0-9]+) ]] && [ "${BASH_REMATCH[1]}" -gt "$2" ]
}

# submit [OPTION...] <SPEC: prints the number of the workflow.
submit() {
    cat >"$PHASED_HOME/spec.yaml"
    phasectl submit "$@" "$PHASED_HOME/spec.yaml" | grep -oE '[0-9]+' | head -n 1
}

# Two phases of at most a second. Each execution of a rank writes a line.
two_phases() {
    cat <<'SPEC'
name: two
phases:
  first:
    resources: {nodes: 1, gpus: h100:1, time: 30m} # `second` has no checkpoints: it needs all its time
    launch: node
    run: |
      echo "$SLURM_JOB_ID" >>"$PHASED_OUT/executed"
      echo step=1 loss=4.5; echo step=2 loss=4.25
    gate: {falling: last(loss) < first(loss)}
  second:
    after: first
    resources: {nodes: 1, gpus: h100:1, time: 10m}
    launch: node
    run: |
      echo "$SLURM_JOB_ID" >>"$PHASED_OUT/executed"
      echo step=1 loss=2
SPEC
}

# Put this filter after another filter. Since 0.12.18, gojq prints 25.0 as it is written; before, it
# printed 25.
export as_numbers='walk(if type == "number" then . + 0 else . end)'

# Prints the number of lines of a file, or 0 without the file.
line_count() {
    if [ -f "$1" ]; then wc -l <"$1"; else echo 0; fi
}

record() {
    sqlite3 -readonly -cmd ".timeout 10000" "$PHASED_HOME/phased.db" "$1"
}

# record_says QUERY VALUE: for `eventually`.
record_says() {
    [ "$(record "$1")" = "$2" ]
}

# last_says BEFORE AFTER: the message of the last run, with the run's first node between them. The
# node is not always n1: Slurm takes another node while the job before still completes.
last_says() {
    [ "$(record "SELECT message = '$1' || substr(nodes, 1, instr(nodes || ',', ',') - 1) || '$2'
                 FROM run ORDER BY id DESC LIMIT 1")" = 1 ]
}
