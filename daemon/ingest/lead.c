/* What leads are told. A command for a lead follows from the pending effects of its run. */
#include "daemon/ingest/ingest_private.h"
#include "daemon/launch/launch.h"
#include "daemon/loop/loop.h"
#include "lib/error.h"
#include "lib/protocol/lead_command.h"
#include "lib/protocol/message.h"
#include "lib/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    SEAL_RETRY_MS = 1000,
    SILENT_MS = 40 * 1000, /* a lead with nothing to tell asks every 25 s */
    SILENT_ENDED_MS = 600 * 1000,
};

/* --- Commands --------------------------------------------------------------------------------- */

static bool is_told(const struct loop *loop, enum core_effect_kind kind, const struct run *run)
{
    return loop_effect(loop, kind, run->id) == EFFECT_STANDING;
}

/* Whether a lead goes on with this run, or was told to. A lead that went on alone knows the run,
 * but may not know the run's number yet. */
static bool is_next(const struct loop *loop, const struct run *run)
{
    return run->has_begun || is_told(loop, FX_TELL_NEXT, run);
}

/* `ret_next` is the run of the verb NEXT. */
static struct lead_command find_command(const struct loop *loop, uint64_t run_id, unsigned after,
                                        const struct run **ret_next)
{
    const struct run *run = loop_run(loop, run_id);
    if (!run ||
        (run->state == RUN_ENDED && run->seat->allocation->ended)) { /* no lead should be there */
        if (after < 1)
            return (struct lead_command){.number = 1, .verb = VERB_STOP, .why = STOP_OVER};
        return (struct lead_command){.number = after < 2 ? 2 : 0, .verb = VERB_END};
    }
    const struct workflow *workflow = run->phase->workflow;
    /* The runs are in the order of their numbers. */
    for (size_t i = workflow->run_count; after < 2 && i-- > 0 && workflow->runs[i]->id > run->id;) {
        const struct run *next = workflow->runs[i];
        if (next->seat == run->seat && is_next(loop, next)) {
            *ret_next = next;
            return (struct lead_command){.number = 2, .verb = VERB_NEXT};
        }
    }
    if (after < 2 && is_told(loop, FX_TELL_END, run))
        return (struct lead_command){.number = 2, .verb = VERB_END};
    if (after < 1 && is_told(loop, FX_TELL_STOP, run))
        return (struct lead_command){.number = 1,
                                     .verb = VERB_STOP,
                                     .why = run->wish == WISH_HOLD ? STOP_HELD : STOP_CANCELLED};
    return (struct lead_command){0};
}

json_t *ingest_command(const struct loop *loop, uint64_t run_id, unsigned after,
                       unsigned *ret_number)
{
    const struct run *next = NULL;
    struct lead_command command = find_command(loop, run_id, after, &next);
    struct folder folder = {0};
    if (next)
        folder_init(&folder, loop_config(loop)->home, next);
    command.run_dir = folder.run;
    json_t *json = lead_command_to_json(&command);
    folder_fini(&folder);
    *ret_number = command.number;
    return json;
}

void ingest_listen(struct loop *loop, void (*told)(void *context), void *context)
{
    struct ingest *ingest = loop_room(loop, &ingest_room);
    ingest->told = told;
    ingest->told_context = context;
}

/* --- Effects ---------------------------------------------------------------------------------- */

int lead_tell(void *state, const struct core_effect *effect)
{
    struct ingest *ingest = state;
    (void)effect; /* find_command() finds the effect in the outbox */
    ingest->has_told = true;
    return CARRIED_OUT;
}

/* Seals the run's folder. If there is a lead, find_command() tells it to stop. */
int lead_seal(void *state, const struct core_effect *effect)
{
    struct ingest *ingest = state;
    struct run *run = effect->run;
    struct core_event event = {.kind = EV_SEALED, .workflow = run->phase->workflow, .run = run};
    struct folder folder;
    struct error err;
    folder_init(&folder, loop_config(ingest->loop)->home, run);
    int status = folder_seal(&folder, run, &err);
    folder_fini(&folder);
    if (status < 0) {
        log_line("%s", err.message);
        return CARRIED_LATER_MS + SEAL_RETRY_MS;
    }
    loop_post(ingest->loop, &event);
    return lead_tell(ingest, effect);
}

/* The lead may have begun the run already by itself. Then its journals say how far the run is. */
int lead_tell_next(void *state, const struct core_effect *effect)
{
    struct ingest *ingest = state;
    struct run *run = effect->run;
    bool is_begun;
    int carried = launch_next(ingest->loop, run, &is_begun);
    if (carried != CARRIED_OUT)
        return carried;
    if (is_begun) {
        /* The lead will send missing entries. */
        if (!journal_read_outcome(ingest, run) && ingest_is_full(ingest))
            return CARRIED_LATER_MS + 1;
        log_line("run %llu/%s#%u was begun by its lead already",
                 (unsigned long long)run->phase->workflow->id, run->phase->name, run->attempt);
    }
    return lead_tell(ingest, effect);
}

/* --- Silent runs ------------------------------------------------------------------------------ */

/* Whether there may be a lead that serves this run, or that waits for the next run. */
static bool is_served(const struct run *run)
{
    const struct allocation *allocation = run->seat->allocation;
    if (allocation->is_back)
        return true;
    if (allocation->ended || !allocation->slurm_id)
        return false;
    if (run->state == RUN_ENDED)
        return loop_now_ms() - run->ended_ms < SILENT_ENDED_MS;
    return run->state == RUN_STARTING || run->state == RUN_RUNNING || run->state == RUN_STOPPING;
}

static void write_command(const struct loop *loop, struct notes *notes, const struct run *run,
                          const struct folder *folder)
{
    unsigned number;
    json_t *json = ingest_command(loop, run->id, 0, &number);
    if (number <= notes->written) {
        json_decref(json);
        return;
    }
    char *control = text_format("%s/control", folder->run);
    struct error err = {0};
    int status = mkdir(control, 0700) < 0 && errno != EEXIST
                     ? error_set(&err, -errno, "could not make %s: %s", control, strerror(errno))
                     : message_replace(json, &err, "%s/command.json", control);
    if (status == 0)
        notes->written = number;
    else
        log_line("%s", err.message); /* the next look tries again */
    json_decref(json);
    free(control);
}

/* Whether no worker speaks for the run although a lead may be there. `ret_notes` gets the run's
 * notes. */
static bool is_silent(struct ingest *ingest, const struct run *run, struct notes **ret_notes)
{
    if (!is_served(run))
        return false;
    const struct notes *notes = *ret_notes = notes_get(ingest, run->id);
    return !notes->heard_ms || uv_now(loop_config(ingest->loop)->uv) - notes->heard_ms >= SILENT_MS;
}

static void tell(struct ingest *ingest, struct run *run)
{
    struct notes *notes;
    struct folder folder;
    if (!is_silent(ingest, run, &notes))
        return;
    folder_init(&folder, loop_config(ingest->loop)->home, run);
    write_command(ingest->loop, notes, run, &folder);
    folder_fini(&folder);
}

static void follow_up(struct ingest *ingest, struct run *run)
{
    struct notes *notes;
    if (run->state != RUN_ENDED && is_silent(ingest, run, &notes))
        journal_catch_up(ingest, run);
    tell(ingest, run); /* the file, if an earlier attempt to write it failed */
}

static void go_round(struct ingest *ingest, void (*each)(struct ingest *ingest, struct run *run))
{
    const struct core *core = loop_core(ingest->loop);
    for (size_t i = 0; i < core_workflow_count(core); i++) {
        const struct workflow *workflow = core_workflow_at(core, i);
        for (size_t j = 0; j < workflow->run_count; j++)
            each(ingest, workflow->runs[j]);
    }
}

void lead_turned(struct ingest *ingest)
{
    if (!ingest->has_told)
        return;
    ingest->has_told = false;
    go_round(ingest, tell);
    if (ingest->told)
        ingest->told(ingest->told_context);
}

void lead_read_silent(struct ingest *ingest)
{
    go_round(ingest, follow_up);
}
