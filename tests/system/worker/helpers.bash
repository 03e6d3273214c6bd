# Shared by the tests of phase-worker: a home with a fake daemon, run folders, a lead without Slurm.

load ../system/process.bash

worker_setup() {
    home=$(mktemp -d /tmp/phased-test-XXXXXX)
    source_dir=${SRC:-$BATS_TEST_DIRNAME/../..}
    worker=$(realpath "${BIN:-$source_dir/build/bin}/phase-worker") # as programs of a job name it
    fakes=$source_dir/tests/system/worker
    job=$home/job
    mkdir -p "$job" "$home/slurm" "$home/runs" "$home/commands" "$home/record" "$home/out"
    started=()
    unset "${!SLURM_@}" "${!PHASED_@}" job_id
    export PATH=$fakes:$PATH FAKE_HOME=$home
}

worker_teardown() {
    is_of_test "${home:-}" || return 0
    [ -n "${BATS_TEST_COMPLETED:-}" ] || show_state # only shown when the test failed
    await nobody_is_left
    umount "$home/phase/1" "$home/full" 2>/dev/null || true # disks of a test that failed
    await rm -rf "$home"
}

# Kills the processes that name the folder of the test, which may start others meanwhile. Succeeds
# if this shell alone names it.
nobody_is_left() {
    local pid left=0
    for pid in $(home_processes); do
        [ "$pid" = $$ ] || [ "$pid" = "$BASHPID" ] || ! kill -KILL "$pid" 2>/dev/null || left=1
    done
    return $left
}

# Prints the processes that name the folder of the test. Every process has an empty text.
home_processes() {
    is_of_test "${home:-}" || return 0
    grep -lzFs "$home" /proc/[0-9]*/cmdline /proc/[0-9]*/environ | cut -d/ -f3 | sort -u
}

# Prints the processes of the test, and the newest lines of what they wrote.
show_state() {
    local file
    {
        ps -o pid=,ppid=,stat=,etimes=,args= -p "$(home_processes | paste -sd,)" | cut -c1-150
        for file in "$home"/*.log "$job/job.log" "$home"/obeyed.* "$home"/phase/*/journal/*.jsonl \
            "$home"/phase/*/outcome.json; do
            [ ! -s "$file" ] || { echo "--- $file" && tail -n 15 "$file" | cut -c1-300; }
        done
    } 2>&1 | sed 's/^/# /'
}

# Nothing is ever written to this pipe, so reading it is a pause that costs no process.
exec {never}<> <(:)

# Waits until a command succeeds, at most WAIT_S seconds. The pauses grow to 0.4 s, and
# with the time of a try, because each try costs processor time.
await() {
    local -
    set +T # bats traces each command of a function, for 0.3 ms. Without -T, bash traces no function
    await_untraced "$@"
}

await_untraced() {
    local end=$((SECONDS + ${WAIT_S:-90})) pause_ms=40 begin took_ms pause
    until begin=${EPOCHREALTIME/[.,]/} && "$@" 2>/dev/null; do
        if [ "$SECONDS" -ge "$end" ]; then
            echo "# gave up waiting for: $*" >&2
            return 1
        fi
        took_ms=$(((${EPOCHREALTIME/[.,]/} - begin) / 1000))
        pause_ms=$((pause_ms > took_ms ? pause_ms : took_ms > 1000 ? 1000 : took_ms))
        printf -v pause '%d.%03d' $((pause_ms / 1000)) $((pause_ms % 1000))
        read -rt "$pause" -u "$never" || true
        pause_ms=$((pause_ms < 267 ? pause_ms * 3 / 2 : 400))
    done
}

two_by_two='"resources": {"nodes": 2, "gpus": 2}' # for new_run

# Prints a script of a run as a JSON string.
script() {
    local text=${1//\\/\\\\}
    text=${text//\"/\\\"}
    text=${text//$'\t'/\\t}
    printf '"%s\\n"' "${text//$'\n'/\\n}"
}

# Whether no process has a text in its command line or environment.
no_process_names() {
    [ -z "$(grep -lzFs -f <(printf %s "$1") /proc/[0-9]*/cmdline /proc/[0-9]*/environ)" ]
}

# new_run NUMBER SPEC [MORE]: makes the folder of a run. SPEC, and MORE members of run.json, are
# JSON.
new_run() {
    local dir=$home/phase/$1
    mkdir -p "$dir/journal"
    ln -sfn "$dir" "$home/runs/$1"
    head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' >"$dir/secret"
    chmod 600 "$dir/secret"
    gojq -n --argjson run "$1" --argjson spec "$2" --argjson more "${3:-{\}}" --arg home "$home" \
        --arg path "$PATH" '
        {run: $run, workflow: 7, workflow_name: "test", phase: "train", attempt: $run,
         job_dir: ($home + "/job"), run_dir: ($home + "/phase/\($run)"), out_dir: ($home + "/out"),
         daemon_file: ($home + "/daemon.json"), workdir: $home,
         environment: {PATH: $path, HOME: $home, GREETING: "hello"},
         inputs: {}, resume: null, linger_s: 0,
         spec: ({name: "train", resources: {nodes: 1, gpus: 1}, launch: "rank",
                 metrics: {kind: "auto"}, params: {}, env: {}} + $spec)} + $more' >"$dir/run.json"
}

# start_lead NUMBER [NODES]: starts the batch script of a job that begins with that run.
start_lead() {
    printf '{"run_dir": "%s"}' "$home/phase/$1" >"$job/current.json"
    cat >"$home/start" <<START
#!/bin/bash
[ "\${SLURM_RESTART_COUNT:-0}" = 0 ] || echo \$\$ >"$home/slurm/lead"
export SLURM_JOB_ID=${job_id:-4711} SLURM_JOB_NUM_NODES=${2:-1}
exec env ${lead_path:+"PATH=$lead_path"} "$worker" lead "$job" >>"$job/job.log" 2>&1
START
    chmod +x "$home/start"
    setsid "$home/start" 3>&- &
    lead=$!
}

# Kills all processes of a job without warning, like the end of a node or of a grace. First all are
# stopped: otherwise a lead sees the end of its programs, and writes an outcome, before it is killed.
kill_job() {
    local pids signal
    mapfile -t pids < <(grep -lzFsx "${job:?}" /proc/[0-9]*/cmdline | cut -d/ -f3
        grep -lzFs "PHASED_RUN_DIR=${home:?}" /proc/[0-9]*/environ | cut -d/ -f3)
    for signal in STOP KILL; do
        kill -$signal "${pids[@]}" 2>/dev/null || true
    done
    wait "$lead" || true
    await no_process_names "$job"
}

# start_again RESTARTS: starts the batch script after a requeue.
start_again() {
    SLURM_RESTART_COUNT=$1 setsid "$home/start" 3>&- &
    lead=$!
}

start_daemon() {
    rm -f "$home/daemon.json"
    "$fakes/daemon.py" "$home" "$@" >"$home/daemon.log" 2>&1 3>&- &
    daemon=$!
    await test -s "$home/daemon.json"
}

stop_daemon() {
    kill "$daemon"
    wait "$daemon" || true
}

# command RUN NUMBER JSON: the next answer of the daemon.
command_lead() {
    mkdir -p "$home/commands/$1"
    gojq -c --argjson number "$2" '{number: $number} + .' <<<"$3" >"$home/commands/$1/.new"
    mv "$home/commands/$1/.new" "$home/commands/$1/$2.json"
}

# read_json FILTER FILE. Since 0.12.18, gojq prints 25.0 as it is written; before, it printed 25.
read_json() {
    gojq -rc "($1) | walk(if type == \"number\" then . + 0 else . end)" "$2"
}

# outcome RUN FILTER: applied to the outcome file.
outcome() {
    read_json "$2" "$home/phase/$1/outcome.json"
}

has_outcome() {
    test -s "$home/phase/$1/outcome.json"
}

# journal RUN NODE FILTER: applied to each entry.
journal() {
    read_json "$3" "$home/phase/$1/journal/$2.jsonl"
}

record() {
    read_json "$3" "$home/record/$1/$2.jsonl"
}

# await_lead [STATUS]: waits until the lead has ended with this exit code.
await_lead() {
    local code=0
    await process_has_ended "$lead"
    wait "$lead" || code=$?
    [ "$code" = "${1:-0}" ] || {
        echo "# the lead ended with $code" >&2
        return 1
    }
}

# Slurm's TERM at a preemption reaches every process of the job step, but not the batch script.
terminate_step() {
    local pid
    for pid in $(pgrep -f "^[^ ]*/phase-worker node $job\$") $(grep -lzFs "PHASED_RUN_DIR=${home:?}" /proc/[0-9]*/environ | cut -d/ -f3); do
        kill -TERM "$pid" 2>/dev/null || true
    done
}
