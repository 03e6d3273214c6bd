#!/usr/bin/env bats
# When a lead may begin a run: tombstones, and claims on the phase. Without Slurm.

load worker/helpers

setup() {
    worker_setup
}

teardown() {
    worker_teardown
}

# claimed NUMBER JOB ATTEMPT: another job has claimed the phase for this run.
claimed() {
    mkdir -p "$home/phase/$3"
    gojq -n --argjson job "$2" --argjson attempt "$3" --arg dir "$home/phase/$3" \
        '{job_id: $job, token: "t\($job)", restarts: 0, known_run: $attempt, attempt: $attempt, run_dir: $dir}' >"$home/phase/lead.$1"
}

# ended ATTEMPT: the node of the run has reported that no process of the run is left.
ended() {
    mkdir -p "$home/phase/$1/journal"
    echo '{"seq": 1, "type": "started", "nodes": ["n1"]}' >"$home/phase/$1/journal/lead.jsonl"
    echo '{"seq": 1, "type": "exited", "done": false}' >"$home/phase/$1/journal/n1.jsonl"
}

has_claimed() {
    [ "$(gojq .job_id "$home/phase/lead.$1" 2>/dev/null)" = 4711 ]
}

holds() {
    grep -qsF "run $1 of this phase, in job $2" "$job/job.log"
}

# has_asked N: the lead has asked Slurm N times about job 17. It has heard the first answer before
# it asks again.
has_asked() {
    [ "$(grep -c "show job 17" "$home/slurm/calls")" -ge "$1" ]
}

@test "a run that the daemon has declared over does not begin, even without a daemon" {
    new_run 1 "{\"run\": $(script 'echo ran >>"$PHASED_OUT/ran"')}"
    echo '{"run": 1, "outcome": "lost", "message": "Slurm does not know its job any more"}' \
        >"$home/phase/1/tombstone.json"
    start_lead 1
    await_lead
    grep -qF "declared this run over: lost, Slurm does not know its job any more" "$job/job.log"
    [ ! -e "$home/out/ran" ]
    [ ! -e "$home/phase/1/outcome.json" ]
}

@test "a run that is given after the job step was lost does not begin" {
    export SLURM_JOB_END_TIME=4102444800 # so that the lead need not ask for it
    start_daemon
    new_run 2 '{"run": "true"}'
    new_run 3 '{"run": "true"}'
    claimed 1 17 1
    ended 1
    mkfifo "$home/slurm/show" # Slurm does not answer about this job
    echo "JobId=17 JobName=test JobState=RUNNING StdOut=/alias/phased-t17/job.log" >"$home/slurm/job.17"
    start_lead 2
    await holds 1 17
    kill -KILL "$(pgrep -f "/srun .* task $job\$" | head -n 1)"
    await grep -q 'show job 4711' "$home/slurm/calls"
    echo '{}' >"$home/phase/1/outcome.json" # so that a run may begin
    command_lead 2 1 "{\"verb\": \"next\", \"run_dir\": \"$home/phase/3\"}"
    await_lead 1
}

@test "a run waits until the lead of another job has ended, and then begins" {
    new_run 2 "{\"run\": $(script 'echo ran >>"$PHASED_OUT/ran"')}"
    claimed 3 17 1
    ended 1
    echo "JobState=RUNNING" >"$home/slurm/show" # the controller answers
    echo "JobId=17 JobName=test JobState=COMPLETING StdOut=/alias/phased-t17/job.log" >"$home/slurm/job.17"
    start_lead 2
    await holds 1 17
    await has_asked 2
    [ ! -e "$home/out/ran" ]
    echo '{}' >"$home/phase/1/outcome.json"
    await_lead
    [ "$(outcome 2 .outcome)" = succeeded ]
    has_claimed 4
    [ -e "$home/phase/lead.3" ] # its number is never free again
}

# saved STEP: makes a checkpoint. waiting MORE: run 2 waits for the end of run 1, and knows what the
# daemon knew (MORE is a part of its run.json).
saved() {
    echo weights >"$home/out/step_$1"
}

waiting() {
    new_run 1 '{"run": "true"}'
    echo '{"run_dir": "'"$home"'/phase/1", "resume": null}' >"$home/phase/1/run.json"
    gojq -n --arg pattern "$home/out/step_{step}" '{pattern: $pattern, there: []}' >"$home/phase/1/checkpoints.json"
    claimed 1 17 1
    ended 1
    saved 10
    echo '{"seq": 2, "type": "checkpoint", "path": "'"$home"'/out/step_10", "step": 10, "bytes": 8}' \
        >>"$home/phase/1/journal/n1.jsonl"
    new_run 2 "{\"run\": $(script 'echo "$PHASED_RESUME" "${PHASED_RESUME_STEP:-}" >"$PHASED_OUT/began"')}" "$1"
    echo "JobState=RUNNING" >"$home/slurm/show"
    echo "JobId=17 JobName=test JobState=COMPLETING StdOut=/alias/phased-t17/job.log" >"$home/slurm/job.17"
    start_lead 2
    await holds 1 17
}

begins() {
    echo '{}' >"$home/phase/1/outcome.json"
    await_lead
    [ "$(cat "$home/out/began")" = "$home/out/step_$1 $1" ]
    [ "$(gojq -c .resume "$home/phase/2/run.json")" = "{\"path\":\"$home/out/step_$1\",\"step\":$1}" ]
}

@test "a run resumes from a checkpoint that the run before has saved since the daemon prepared it" {
    waiting '{"resume": {"path": "'"$home"'/out/step_10", "step": 10}, "known_step": 10}'
    saved 20
    begins 20
}

@test "a run resumes from the newest checkpoint if the training has removed the given checkpoint" {
    saved 5
    waiting '{"resume": {"path": "'"$home"'/out/step_5", "step": 5}, "known_step": 10}'
    rm "$home/out/step_5"
    begins 10
}

@test "a run does not resume from a later checkpoint if a guard has failed" {
    waiting '{"resume": {"path": "'"$home"'/out/step_10", "step": 10}, "known_step": 10}'
    echo '{"seq": 3, "type": "suspect", "step": 15}' >>"$home/phase/1/journal/n1.jsonl"
    saved 20
    begins 10
}

@test "a run resumes from the checkpoint that a person has chosen, whatever was saved since" {
    waiting '{"resume": {"path": "'"$home"'/out/step_10", "step": 10}}'
    saved 20
    begins 10
}

@test "a claim is void if its job is over, is unknown to Slurm, or is the job of somebody else" {
    echo "JobState=RUNNING" >"$home/slurm/show"
    for said in "JobState=NODE_FAIL StdOut=$home/phased-t17/job.log" "" "JobState=RUNNING StdOut=/elsewhere/log"; do
        rm -rf "$home/slurm/job.17" "$home/phase"
        [ -z "$said" ] || echo "JobId=17 JobName=test $said" >"$home/slurm/job.17"
        new_run 2 '{"run": "true"}'
        claimed 1 17 1
        ended 1
        start_lead 2
        await_lead
        [ "$(outcome 2 .outcome)" = succeeded ]
        has_claimed 2
    done
}

@test "a run waits as long as a lost node may still run processes, and then begins" {
    new_run 2 "{\"run\": $(script 'date +%s >>"$PHASED_OUT/began"')}"
    claimed 1 17 1
    echo '{}' >"$home/phase/1/outcome.json"
    seen=$(date +%s)
    start_lead 2
    await_lead
    [ "$(outcome 2 .outcome)" = succeeded ]
    # The agent there needs 5 s to find the outcome, and 10 s to kill.
    [ "$(cat "$home/out/began")" -ge $((seen + 15)) ]
}

@test "a run waits while Slurm still ends the job of an earlier run, and then begins" {
    new_run 2 "{\"run\": $(script 'echo ran >>"$PHASED_OUT/ran"')}"
    claimed 1 17 1
    echo '{}' >"$home/phase/1/outcome.json"
    echo "JobState=RUNNING" >"$home/slurm/show" # the controller answers
    echo "JobId=17 JobName=test JobState=COMPLETING StdOut=/alias/phased-t17/job.log" >"$home/slurm/job.17"
    start_lead 2
    await has_asked 2
    [ ! -e "$home/out/ran" ]
    echo "JobId=17 JobName=test JobState=FAILED StdOut=/alias/phased-t17/job.log" >"$home/slurm/job.17"
    await_lead
    [ "$(outcome 2 .outcome)" = succeeded ]
    has_claimed 2
}

@test "a claim that stays unreadable is skipped, and the history says so" {
    new_run 2 '{"run": "true"}'
    : >"$home/phase/lead.3"
    start_lead 2
    await grep -qsF "$home/phase/lead.3 cannot be read" "$job/job.log"
    [ ! -e "$home/phase/lead.4" ]
    await_lead
    [ "$(outcome 2 .outcome)" = succeeded ]
    has_claimed 4
    grep -F "$home/phase/lead.3" "$home/phase/2/journal/lead.jsonl" | grep -qF '"warning"'
}

# A power failure may take the journal of the lead, and the claim may be readable only later.
@test "a run whose claim is readable only later is not begun a second time" {
    start_daemon
    new_run 1 "{\"run\": $(script 'echo ran >>"$PHASED_OUT/ran"')}"
    command_lead 1 1 '{"verb": "end", "when": "ended"}'
    mkdir "$home/aside"
    claimed 1 4711 1
    mv "$home/phase/lead.1" "$home/aside"
    : >"$home/phase/lead.1"
    start_lead 1
    await grep -qsF "waiting: $home/phase/lead.1 cannot be read" "$job/job.log"
    mv "$home/aside/lead.1" "$home/phase"
    await_lead
    grep -qF 'an earlier lead of this job has begun the run' "$job/job.log"
    [ "$(outcome 1 '[.outcome, .message]')" = '["preempted","killed with its job"]' ]
    [ ! -e "$home/out/ran" ] && [ ! -e "$home/phase/lead.2" ]
}

@test "a run begins even if its claim cannot be made, and the history says so" {
    mkdir "$home/full" "$home/one"
    mount -t tmpfs -o size=64k tmpfs "$home/full" 2>/dev/null || skip "may not mount"
    ln -s "$home/full" "$home/phase"
    ln -s "$home/one" "$home/phase/1"
    new_run 1 '{"run": "true"}'
    mount -o remount,ro "$home/full"
    start_lead 1
    await_lead
    umount "$home/full"
    [ "$(read_json .outcome "$home/one/outcome.json")" = succeeded ]
    grep -F 'not claimed' "$home/one/journal/lead.jsonl" | grep -qF '"warning"'
}

# was_stopped: the program of run 1 was stopped soon enough for a run that waits.
was_stopped() {
    grep -qsF 'ended without this node' "$job/job.log" && [ -e "$home/out/stopped" ]
}

@test "a run is stopped when it has a tombstone, or when another job has claimed its phase" {
    for by in tombstone claim; do
        rm -rf "$home/phase" "$home/out"
        new_run 1 "{\"run\": $(script 'trap "touch $PHASED_OUT/stopped; exit 0" TERM; touch "$PHASED_OUT/ran"; sleep 1000 & wait')}"
        start_lead 1
        await test -e "$home/out/ran"
        if [ "$by" = claim ]; then
            claimed 2 18 2
        else
            echo '{"run": 1, "outcome": "lost"}' >"$home/phase/1/tombstone.json"
        fi
        await was_stopped
        await_lead 1
        [ "$(outcome 1 .outcome)" = cancelled ]
    done
}

# start_late: starts the lead of run 1. Its program runs until the file `go` exists.
start_late() {
    new_run 1 "{\"run\": $(script 'touch "$PHASED_OUT/ran"; until [ -e "$PHASED_OUT/go" ]; do sleep 0.02; done')}"
    start_lead 1
    await test -e "$home/out/ran"
}

@test "a lead that was cut off keeps the outcome that another lead has written, and requeues nothing" {
    local kind
    for kind in preempted succeeded; do
        rm -rf "$home/phase" "$home/out" "$home/slurm/calls"
        start_late
        gojq -n --arg kind $kind '{run: 1, job_id: 4711, restarts: 1, outcome: $kind, cause: null, exit_code: 0, signal: 0,
            message: "killed with its job", guard: null, started: 1.5, ended: 2.5, finals: {}, last_step: 7,
            requeues: ($kind == "preempted")}' >"$home/phase/1/outcome.json"
        cp "$home/phase/1/outcome.json" "$home/before"
        touch "$home/out/go"
        await_lead
        cmp "$home/before" "$home/phase/1/outcome.json"
        grep -qF "another lead has written how the run in $home/phase/1 ended" "$job/job.log"
        [ -z "$(grep -F '"ended"' "$home/phase/1/journal/lead.jsonl")" ]
        [ -z "$(grep -sE 'requeue|update' "$home/slurm/calls")" ]
    done
}

@test "a run that is declared over while it runs ends as cancelled, even if its program ends well" {
    # The agent, which looks every few seconds, has no time to see the file before the program ends.
    new_run 1 '{"run": "mv tombstone $PHASED_RUN_DIR/tombstone.json"}'
    echo '{"run": 1, "outcome": "lost", "message": "no word of it"}' >"$home/tombstone"
    start_lead 1
    await_lead 1
    [ "$(outcome 1 '[.outcome, .requeues]')" = '["cancelled",false]' ]
    [ "$(outcome 1 .message)" = "the daemon has declared this run over: lost, no word of it" ]
}

@test "a run never begins after a later run of its phase" {
    new_run 1 "{\"run\": $(script 'echo ran >>"$PHASED_OUT/ran"')}"
    claimed 1 17 2
    echo '{}' >"$home/phase/2/outcome.json"
    start_lead 1
    await_lead 1
    [ "$(outcome 1 '[.outcome, .cause]')" = '["failed","launch"]' ]
    [[ "$(outcome 1 .message)" = *"run 2 of this phase, in job 17, has come after it" ]]
    [ ! -e "$home/out/ran" ]
}

# waiting_run: starts the lead of run 2, which waits for the end of run 1.
waiting_run() {
    start_daemon
    new_run 2 "{\"run\": $(script 'echo 2 >>"$PHASED_OUT/ran"')}"
    claimed 3 17 1
    ended 1
    echo "JobState=RUNNING" >"$home/slurm/show"
    echo "JobId=17 JobName=test JobState=COMPLETING StdOut=/alias/phased-t17/job.log" >"$home/slurm/job.17"
    start_lead 2
    await holds 1 17
}

@test "a waiting run that the daemon knows to be over does not begin" {
    waiting_run
    command_lead 2 1 '{"verb": "end"}'
    await_lead 1
    [ "$(outcome 2 '[.outcome, .message]')" = '["cancelled","stopped: over"]' ]
    [ ! -e "$home/out/ran" ]
}

@test "a lead that has not begun its run serves the next run instead, however often the daemon says so" {
    new_run 3 "{\"run\": $(script 'echo 3 >>"$PHASED_OUT/ran"')}"
    command_lead 2 1 "{\"verb\": \"next\", \"run_dir\": \"$home/phase/3\"}"
    command_lead 2 2 "{\"verb\": \"next\", \"run_dir\": \"$home/phase/3\"}"
    command_lead 3 1 "{\"verb\": \"next\", \"run_dir\": \"$home/phase/3\"}"
    command_lead 3 2 '{"verb": "end", "when": "ended"}'
    waiting_run
    serves_run_3() { [ "$(gojq -r .run_dir "$job/current.json")" = "$home/phase/3" ]; }
    await serves_run_3
    echo '{}' >"$home/phase/1/outcome.json"
    await_lead
    [ "$(outcome 3 .outcome)" = succeeded ]
    [ "$(cat "$home/out/ran")" = 3 ]
    [ ! -e "$home/phase/2/outcome.json" ]
}

@test "a lead stops its run when the daemon says that the run is over, and the run ends as cancelled" {
    local command
    start_daemon
    for command in '{"verb": "stop", "why": "over"}' '{"verb": "end"}' \
        "{\"verb\": \"next\", \"run_dir\": \"$home/phase/2\"}"; do
        rm -rf "$home/phase" "$home/commands" "$home/record"
        new_run 1 "{\"run\": $(script 'echo "step=1 loss=1"; sleep 100')}"
        start_lead 1
        await grep -qs metric "$home/phase/1/journal/n1.jsonl"
        command_lead 1 1 "$command"
        await_lead 1
        [ "$(outcome 1 '[.outcome, .message]')" = '["cancelled","stopped: over"]' ]
    done
}
