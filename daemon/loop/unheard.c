/* Going round the folders of runs that are not heard. */
#include "daemon/loop/unheard.h"

#include "daemon/launch/launch.h"
#include "daemon/loop/inside.h"
#include "daemon/loop/journal.h"
#include "daemon/loop/notes.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    UNHEARD_MS = 40 * 1000, /* a lead with nothing to tell asks every 25 s */
    UNHEARD_ENDED_MS = 600 * 1000,
};

/* Whether a lead may be there that serves this run, or waits for what comes after it. */
static bool is_served(const struct run *run, int64_t now_ms)
{
    const struct allocation *allocation = run->seat->allocation;
    if (allocation->is_back)
        return true;
    if (allocation->ended || !allocation->slurm_id)
        return false;
    if (run->state == RUN_ENDED)
        return now_ms - run->ended_ms < UNHEARD_ENDED_MS;
    return run->state == RUN_STARTING || run->state == RUN_RUNNING || run->state == RUN_STOPPING;
}

static void write_command(const struct loop *loop, struct notes *notes, const struct run *run,
                          const struct folder *folder)
{
    struct loop_command command = loop_command(loop, run->id, 0);
    if (command.number <= notes->written)
        return;
    char *control = text_format("%s/control", folder->run);
    char *path = text_format("%s/command.json", control);
    json_t *json = loop_command_json(loop, &command);
    char *text = json_dumps(json, JSON_COMPACT);
    struct error err = {0};
    if (!text)
        abort();
    int status = mkdir(control, 0700) < 0 && errno != EEXIST
                     ? error_set(&err, -errno, "could not make %s: %s", control, strerror(errno))
                     : file_replace(path, text, strlen(text), 0600, &err);
    if (status == 0)
        notes->written = command.number;
    else
        log_line("%s", err.message); /* the next look tries again */
    free(text);
    json_decref(json);
    free(path);
    free(control);
}

/* Whether nobody speaks for the run though somebody should be there; with its notes. */
static bool is_unheard(struct loop *loop, const struct run *run, int64_t now_ms,
                       struct notes **ret_notes)
{
    if (!is_served(run, now_ms))
        return false;
    const struct notes *notes = *ret_notes = notes_get(loop, run->id);
    return !notes->heard_ms || now_ms - notes->heard_ms >= UNHEARD_MS;
}

static void tell(struct loop *loop, struct run *run, int64_t now_ms)
{
    struct notes *notes;
    struct folder folder;
    if (!is_unheard(loop, run, now_ms, &notes))
        return;
    folder_init(&folder, loop->config.home, run);
    write_command(loop, notes, run, &folder);
    folder_fini(&folder);
}

static void look(struct loop *loop, struct run *run, int64_t now_ms)
{
    struct notes *notes;
    if (run->state != RUN_ENDED && is_unheard(loop, run, now_ms, &notes))
        journal_read(loop, run);
    tell(loop, run, now_ms); /* what could not be written before */
}

static void go_round(struct loop *loop, int64_t now_ms,
                     void (*each)(struct loop *loop, struct run *run, int64_t now_ms))
{
    for (size_t i = 0; i < core_workflow_count(loop->core); i++) {
        const struct workflow *workflow = core_workflow_at(loop->core, i);
        for (size_t j = 0; j < workflow->run_count; j++)
            each(loop, workflow->runs[j], now_ms);
    }
}

void unheard_tell(struct loop *loop, int64_t now_ms)
{
    go_round(loop, now_ms, tell);
}

void unheard_look(struct loop *loop, int64_t now_ms)
{
    if (now_ms < loop->unheard_ms || loop->trouble[0])
        return;
    loop->unheard_ms = now_ms + UNHEARD_LOOK_MS;
    go_round(loop, now_ms, look);
}
