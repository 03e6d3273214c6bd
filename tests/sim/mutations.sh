#!/bin/bash
# Breaks the core, or a rule that the fakes keep as the real programs do, in one way after the other,
# and expects the simulator to catch each. A mutation is a line: what is broken | file | old text |
# new text. A file without a folder is in daemon/core. Prints TAP.
set -u
seeds=${PHASED_MUTATION_SEEDS:-60000}
limit_s=300 # of processor time, since a machine may be busy; the seeds need a minute or two
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
count=0

mutations='
an unanswered submission is sent again at once|allocation.c|allocation_ask(decision, FX_LOOKUP, allocation, allocation_back_off(decision, allocation));|allocation_ask(decision, FX_SUBMIT, allocation, 0);
absence of one poll is death|decision.h|ABSENCE_MS = 300 * 1000|ABSENCE_MS = 0
a batch script that ends well is a success|run.c|{CLUSTER_JOB_CANCELLED, OUTCOME_CANCELLED, CAUSE_NONE, ""},|{CLUSTER_JOB_CANCELLED, OUTCOME_CANCELLED, CAUSE_NONE, ""}, {CLUSTER_JOB_COMPLETED, OUTCOME_SUCCEEDED, CAUSE_NONE, ""},
a failed gate promotes|phase.c|if (event->gate != GATE_PASSED) {|if (event->gate == GATE_FAILED) {
a manual promotion does not wait|phase.c|} else if (phase->promote_manual) {|} else if (0) {
a phase begins before the one before it has succeeded|fit.c|.state != PHASE_SUCCEEDED)|.state == PHASE_BLOCKED)
a resumed run begins anew|phase.c|    if (phase->checkpoint_path) {|    if (phase->checkpoint_path \&\& phase->attempts > 9) {
what a run saves after a guard broke is gone on from|checkpoint.c|    if (run->suspect_step >= 0 \&\& event->step >= run->suspect_step)\n        return;|
what a run saved before a guard was seen to break is gone on from|checkpoint.c|    if (is_before ? !event->path : phase->checkpoint_step < event->since)\n        return;|    (void)is_before;\n    return;
a guard that breaks costs the checkpoints of all runs before|checkpoint.c|        phase_set_checkpoint(phase, run->resume_path, run->resume_step);|        phase_set_checkpoint(phase, NULL, -1);
checkpoints are forgotten|checkpoint.c|    phase_set_checkpoint(phase, event->path, event->step);\n    decision_save|    phase_set_checkpoint(phase, event->path, event->step / 40 * 40);\n    decision_save
the end of a job is taken for the end of the outcome|run.c|    (void)decision_do(decision, FX_READ_OUTCOME, run);\n    }|    }
a preempted run is not followed|phase.c|    case OUTCOME_PREEMPTED:\n|    case OUTCOME_PREEMPTED: break;\n
a lost job is never noticed|allocation.c|decision->now_ms - allocation->absent_since_ms >= lost_after_ms|0
a phase goes on in an allocation of another shape|fit.c|phase->nodes != allocation->node_count \|\|\n        |
a phase that went to its end begins there when it is retried|command.c|phase->run->outcome == OUTCOME_SUCCEEDED|false
the second start of a run counts too|run.c|    [RUN_RUNNING] = {RUN_BEGAN,|    [RUN_RUNNING] = {RUN_BEGAN,\n                     [EV_RUN_STARTED] = run_on_started,
what a worker wants to be held is not held|run.c|    if (decision->event->hold_reason \&\& run->wish == WISH_NONE) {|    if (0) {
a verdict counts twice|phase.c|    if (phase->remedy) /* the news came twice: a remedy is being worked out already */\n        return;|
a requeued job is followed by a second one|phase.c|    if (run->requeues \&\& !run_is_stuck(run)) {|    if (0) {
phases side by side are submitted each on its own|fit.c|if (allocation_is_open(decision, allocation, run, phase))|if (0)
a job is cancelled under the other phase|allocation.c|    if (allocation_is_wanted_by_others(run))\n        (void)decision_do(decision, FX_TELL_STOP, run);\n    else|    
an allocation whose first phase is done counts as idle|model.c|        if (run->state != RUN_ENDED)|        if (run->state != RUN_ENDED \&\& !seat_is_joined(run->seat))
those beside a job that is over wait forever|run.c|        run_take(decision, run);|        if (fact->kind != FACT_JOB_ENDED \|\| !seat_is_joined(run->seat))\n            run_take(decision, run);
a run that a lead alone may have made is not looked for|phase.c|    if (donor->seat->allocation->ended) {|    if (0) {
a candidate is cancelled as soon as another runs|seat.c|        return run->wish != WISH_NONE;|        return run->wish != WISH_NONE \|\| (run->state == RUN_STARTING \&\& run->seat->allocation != candidate);
which of the candidates serves the run is not heard|seat.c|    if (found)\n        run->seat->allocation = found;|    (void)found;
the end of one candidate is the end of all|seat.c|    if (!seat_is_open(run) \|\| !there)\n        return true;|    if (run->state != RUN_ENDED)\n        return true;
the end of the last candidate is not noticed|seat.c|    if (!seat_is_open(run) \|\| !there)\n        return true;|    if (!seat_is_open(run))\n        return true;\n    if (!there)\n        return false;
a candidate that was not found is submitted although it is being looked for|allocation.c|    if (allocation->is_asked \|\| |    if (
a remedy counts only once it was worked out|remedy.c|    remedy->used++;|    
the states of runs are not saved|decision.c|    decision_save_run(decision, run);\n    decision_history|    decision_history
the states of phases are not saved|decision.c|    decision_save_phase(decision, phase);\n    decision_history|    decision_history
the second end of a run counts too|run.c|    [RUN_ENDED] = {[EV_RUN_SILENT] = run_on_read,|    [RUN_ENDED] = {[EV_RUN_ENDED] = run_on_ended,\n                   [EV_RUN_SILENT] = run_on_read,
a matrix does not wait for all of its members|matrix.c|    if (!matrix_is_through(matrix))\n        return;|
more members run at once than there are lanes|fit.c|return matrix->lanes == 0 \|\| count < matrix->lanes;|(void)count;\n    return true;
a member that is retried is not waited for|command.c|    if (phase->matrix)\n        matrix_revive(decision, phase->matrix, reason);|
a blocked member is forgotten|matrix.c|    while ((next = matrix_next(matrix)))\n        phase_start(decision, next, "submitted", 0);|
those that go on to the next rung do not run again|matrix.c|            phase_move(decision, member, PHASE_BLOCKED, reason);|            (void)reason;
results of an earlier rung are chosen from|matrix.c| \&\&\n            matrix->members[i]->rung == matrix->phase->rung)|)
what an earlier rung has left is lost by a retry|command.c| \&\& phase->run->rung == phase->rung;|;
a matrix that is judged again does not decide|command.c|    if (is_own)|    if (!phase->members)
a job that came back is left alone|allocation.c|    (void)decision_do_job(decision, FX_CANCEL_JOB, allocation);\n}\n\n/* --- The table|}\n\n/* --- The table
what a run has left is not read when Slurm holds its job|run.c|        (void)decision_do(decision, FX_READ_OUTCOME, run);\n}\n\n/* A wish|        run_end_stuck(decision, run);\n}\n\n/* A wish
a job that Slurm holds stays|allocation.c|    if (event->seen.is_stuck)\n|    if (0)\n
a cancellation that Slurm has forgotten is not repeated|allocation.c|    allocation_cancel_again(decision, allocation);\n}|    (void)allocation_cancel_again;\n}
a job that waits is not looked at again when its run has ended|need.c|is_put_off \|\| is_unstarted|is_put_off
a job that came back is cancelled though its run goes on|allocation.c|    if (!allocation_is_idle(allocation)) {\n        allocation_revive|    if (0) {\n        allocation_revive
a run that ends without a word of its worker gets no tombstone|run.c|        (void)decision_do(decision, FX_SEAL, run); /* at once */|        (void)0;
a clock that is set moves no deadlines|core.c|        if (workflow_is_final(workflow))\n            continue;\n        for (size_t j = 0; j < workflow->allocation_count; j++)\n            if (allocation_is_moved|        if (true)\n            continue;\n        for (size_t j = 0; j < workflow->allocation_count; j++)\n            if (allocation_is_moved
times of a clock that was ahead are believed|core.c|        if (moved_ms > decision->now_ms)\n            moved_ms = decision->now_ms;|
the end of a phase is not told to those after it|phase.c|    decision_tell_phase(decision, FACT_PHASE_SUCCEEDED, phase, who);|    (void)who;
facts are forgotten that come about while others are passed on|decision.c|    *ret_fact = facts->items[facts->taken++];|    *ret_fact = facts->items[facts->taken];\n    facts->taken = facts->count;
members side by side have the same GPUs|seat.c|    while (seat_slot_is_taken(allocation, seat->slot))\n        seat->slot++;|
a run that goes on in place has another seat|phase.c|    run->seat = donor->seat;|    run->seat = seat_new(decision, phase->workflow);\n    *run->seat = *donor->seat;\n    run->seat->id = decision->config->last_seat;\n    decision_new_token(decision, run->seat->token);
a seat that joins an allocation has the folder of the first|seat.c|    decision_new_token(decision, seat->token);|    memcpy(seat->token, allocation->token, sizeof seat->token);
a phase joins an allocation that has ended|fit.c|    if (allocation->ended \|\| allocation->is_closed|    if (allocation->is_closed
what becomes of a shared allocation is told to its first seat alone|run.c|        run_take(decision, run);|        if (!seat_is_joined(run->seat))\n            run_take(decision, run);
a seat loses an allocation, and keeps it|seat.c|        run->seat->allocation = there;|        (void)there;
a candidate is given up while others of its seat are wanted|allocation.c|    if (seat_loses(decision, allocation))|    (void)seat_loses(decision, allocation);
a daemon that wakes does not look at the lease|tests/sim/pause.c|    if (daemon_is_owner(sim))\n        daemon_turn|    daemon_turn
a lead does not look at the claim|tests/sim/lead.c|if (sim->claim[number] \&\& sim->claim[number] != job) {|if (0) {
a lead does not wait for the program of a lost node|tests/sim/lead.c|        if (other->folder->phase == folder->phase)\n            return true;|        (void)folder;
a second submission sets back the run that a lead serves|tests/sim/daemon.c|        if (!sim->claim[folder]) /* otherwise it belongs to the lead */\n|
a run that never began gets no tombstone|tests/sim/daemon.c|    if (!folder \&\& !run->has_begun \&\&|    if (0 \&\&
'

# mutate FILE FROM TO: changes exactly one place, or fails.
mutate() {
    FROM=$2 TO=$3 perl -0777 -i -pe '
        BEGIN { ($from, $to) = @ENV{qw(FROM TO)}; s/\\n/\n/g, s/\\([&|])/$1/g for $from, $to; $n = 0 }
        $n = s/\Q$from\E/$to/; END { exit($n ? 0 : 1) }' "$1"
}

report() {
    count=$((count + 1))
    echo "$1 $count - caught: $2"
    [ -z "${3:-}" ] || sed 's/^/# /' <<<"$3"
}

compile() {
    (cd "$work/tree" && ${CC:-gcc} -std=gnu17 -D_GNU_SOURCE -O1 -I. -c "$1" -o "$2/${1//\//_}.o")
}

# Compiles each file once. A mutation of a file recompiles that file; a mutation of a header, all
# files.
mkdir -p "$work/tree/daemon" "$work/tree/tests" "$work/whole" "$work/mutant"
cp -r "$SRC/lib" "$work/tree/"
cp -r "$SRC/tests/sim" "$work/tree/tests/"
cp -r "$SRC/daemon/core" "$work/tree/daemon/"
compile_all() {
    local source
    for source in $(cd "$work/tree" && echo tests/sim/*.c daemon/core/*.c lib/text.c lib/error.c \
        lib/memory.c lib/protocol/words.c); do
        compile "$source" "$1" || return 1
    done
}
compile_all "$work/whole"
${CC:-gcc} "$work"/whole/*.o -o "$work/whole/sim" || exit 1

# whole_passes: the whole core passes the seed by which the mutation was caught, so the mutation was to
# blame.
whole_passes() {
    local seed
    seed=$(sed -n 's/^# seed \([0-9]*\).*/\1/p' "$work/log" | head -n 1)
    [ -n "$seed" ] && "$work/whole/sim" --seeds "$seed" 1
}

while IFS= read -r line; do
    [ -n "$line" ] || continue
    IFS=$'\x01' read -r title file from to <<<"$(perl -pe 's/(?<!\\)\|/\x01/g' <<<"$line")"
    [[ $file == */* ]] || file=daemon/core/$file
    cp "$SRC"/daemon/core/*.[ch] "$work/tree/daemon/core/"
    cp "$SRC"/tests/sim/*.[ch] "$work/tree/tests/sim/"
    if ! mutate "$work/tree/$file" "$from" "$to"; then
        report 'not ok' "$title" "the text to change is not in $file"
        continue
    fi
    cp "$work"/whole/*.o "$work/mutant/"
    if ! { case $file in
        *.h) compile_all "$work/mutant" ;;
        *) compile "$file" "$work/mutant" ;;
        esac && ${CC:-gcc} "$work"/mutant/*.o -o "$work/tree/sim"; } 2>"$work/log"; then
        report 'not ok' "$title" "$(head -5 "$work/log")"
        continue
    fi
    bash -c "ulimit -S -t $limit_s; $work/tree/sim --seeds 1 $seeds" >"$work/log" 2>&1
    case $? in
    0) report 'not ok' "$title" "$seeds seeds passed" ;;
    152) report 'not ok' "$title" "no breach in $limit_s s" ;; # SIGXCPU
    *)
        said=$(grep -m1 -E 'seed|ssert' "$work/log")
        if whole=$(whole_passes 2>&1); then
            report ok "$title" "$said"
        else
            report 'not ok' "$title" "$said"$'\n'"without the mutation: ${whole:-the seed is not known}"
        fi
        ;;
    esac
done <<<"$mutations"
echo "1..$count"
