/* What leads are told: which effects stand for them in the outbox. */
#include "daemon/launch/launch.h"
#include "daemon/loop/inside.h"

static bool is_told(const struct loop *loop, enum core_effect_kind kind, const struct run *run)
{
    const struct duty *duty = outbox_find(&loop->outbox, kind, run->id);
    return duty && duty->state == DUTY_STANDING;
}

/* Whether a lead goes on with this run, or shall; one that went on alone knows the run, but not
 * yet its number. */
static bool is_next(const struct loop *loop, const struct run *run)
{
    return run->has_begun || is_told(loop, FX_TELL_NEXT, run);
}

struct loop_command loop_command(const struct loop *loop, uint64_t run_id, unsigned after)
{
    const struct run *run = loop_run(loop, run_id);
    if (!run ||
        (run->state == RUN_ENDED && run->seat->allocation->ended)) { /* nobody should be there */
        if (after < 1)
            return (struct loop_command){.number = 1, .verb = LOOP_STOP, .why = "over"};
        return (struct loop_command){.number = after < 2 ? 2 : 0, .verb = LOOP_END};
    }
    const struct workflow *workflow = run->phase->workflow;
    for (size_t i = workflow->run_count; after < 2 && i-- > 0;) {
        const struct run *next = workflow->runs[i];
        if (next->id > run->id && next->seat == run->seat && is_next(loop, next))
            return (struct loop_command){.number = 2, .verb = LOOP_NEXT, .to = next};
    }
    if (after < 2 && is_told(loop, FX_TELL_END, run))
        return (struct loop_command){.number = 2, .verb = LOOP_END};
    if (after < 1 && is_told(loop, FX_TELL_STOP, run))
        return (struct loop_command){
            .number = 1, .verb = LOOP_STOP, .why = run->wish == WISH_HOLD ? "held" : "cancelled"};
    return (struct loop_command){0};
}

json_t *loop_command_json(const struct loop *loop, const struct loop_command *command)
{
    if (command->number == 0)
        return json_object();
    json_t *json = json_pack("{s:i}", "number", (int)command->number);
    if (command->verb == LOOP_STOP) {
        (void)json_object_set_new(json, "verb", json_string("stop"));
        (void)json_object_set_new(json, "why", json_string(command->why));
    } else if (command->verb == LOOP_NEXT) {
        struct folder folder;
        folder_init(&folder, loop->config.home, command->to);
        (void)json_object_set_new(json, "verb", json_string("next"));
        (void)json_object_set_new(json, "run_dir", json_string(folder.run));
        folder_fini(&folder);
    } else {
        (void)json_object_set_new(json, "verb", json_string("end"));
    }
    return json;
}
