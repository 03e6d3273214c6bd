/* Asks the driver and Slurm for the GPU. Both are asked by a program with a deadline, because a
 * call into the driver may block forever. A program that stays in the kernel is left behind. */
#include "worker/lead/hardware.h"

#include "lib/error.h"
#include "lib/memory.h"
#include "lib/protocol/hardware.h"
#include "lib/protocol/message.h"
#include "lib/protocol/sampler_line.h"
#include "lib/spec/overlay.h"
#include "lib/text.h"
#include "worker/process/child.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    HARDWARE_DRIVER_MS = 10000, /* an idle GPU without persistence mode takes seconds to wake */
    HARDWARE_SLURM_MS = 10000,
    HARDWARE_FILE_MAX = 65536,
};

/* --- Programs --------------------------------------------------------------------------------- */

struct hardware_question {
    struct child *child;
    char *answer;
};

static void hardware_answered(void *context, const struct child_end *end)
{
    struct hardware_question *question = context;
    (void)end; /* output that came in time counts */
    question->answer = xstrdup(text_string(child_text(question->child)));
    child_close(question->child);
}

/* Returns what the program prints until it ends or the time is over; the caller frees the text. */
static char *hardware_ask(char *const *arguments, int limit_ms)
{
    struct hardware_question question = {0};
    uv_loop_t loop;
    uv_loop_init(&loop);
    const struct child_options options = {
        .loop = &loop,
        .kind = CHILD_OF_LOOP,
        .program = arguments[0],
        .arguments = arguments,
        .out = {.output = CHILD_TEXT, .size_max = HARDWARE_FILE_MAX},
        .err = {.output = CHILD_INHERITS},
        .deadline_ms = limit_ms,
        .ended = hardware_answered,
        .context = &question,
    };
    question.child = child_try(&options);
    uv_run(&loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&loop); /* its only handle, the child, is closed */
    return question.answer;
}

/* --- The driver ------------------------------------------------------------------------------- */

/* Returns the devices from the output of `phase-worker gpus`, as a new reference; or NULL. */
static json_t *hardware_devices(const char *output)
{
    for (const char *line = output; line && *line;) {
        size_t size = strcspn(line, "\n");
        json_t *json = json_loadb(line, size, 0, NULL);
        json_t *devices = json_incref(sampler_line_read(json).devices);
        json_decref(json);
        if (devices)
            return devices;
        line += size + (line[size] == '\n');
    }
    return NULL;
}

/* All GPUs of a node are nearly always of one type, so this takes the type of the first GPU. */
static json_t *hardware_from_driver(void)
{
    char *const arguments[] = {"/proc/self/exe", "gpus", "--detach", "--seconds", "1", NULL};
    char *output = hardware_ask(arguments, HARDWARE_DRIVER_MS);
    json_t *json = hardware_devices(output), *found = NULL;
    const struct gpu_devices devices = gpu_devices_read(json);
    const json_t *model = json_array_get(devices.models, 0);
    const json_t *mib = json_array_get(devices.memory_mib, 0);
    if (json_is_string(model))
        found = hardware_to_json(
            &(struct hardware){.model = json_string_value(model),
                               .memory_gib = (double)json_integer_value(mib) / 1024,
                               .source = "driver"});
    json_decref(json);
    free(output);
    return found;
}

/* --- Slurm ------------------------------------------------------------------------------------ */

char *hardware_slurm_type(const char *description)
{
    static const char key[] = " GRES=gpu:"; /* of the first node; JOB_GRES has all nodes */
    const char *type = strstr(description, key);
    if (!type)
        return NULL;
    type += strlen(key);
    size_t size = strcspn(type, ":(, \n");
    bool is_count = text_digits_size(type) == size;
    return is_count || type[size] != ':' ? NULL : text_format("%.*s", (int)size, type);
}

static json_t *hardware_from_slurm(int64_t job_id)
{
    char *job = text_format("%lld", (long long)job_id);
    char *const arguments[] = {"scontrol", "--details", "show", "job", job, NULL};
    char *output = hardware_ask(arguments, HARDWARE_SLURM_MS);
    char *type = hardware_slurm_type(output);
    json_t *found =
        type ? hardware_to_json(&(struct hardware){.model = type, .source = "slurm"}) : NULL;
    free(type);
    free(output);
    free(job);
    return found;
}

/* --- All -------------------------------------------------------------------------------------- */

int hardware_settle(const char *run_dir, const json_t *spec, int64_t job_id, struct error *err)
{
    json_t *found = hardware_from_driver();
    if (!found && job_id > 0)
        found = hardware_from_slurm(job_id);
    struct hardware hardware = hardware_read(found);
    const struct overlay_gpu gpu = {.model = hardware.model, .memory_gib = hardware.memory_gib};
    hardware.by_gpu = overlay_choose(spec, &gpu);
    json_t *json = hardware_to_json(&hardware);
    int status = message_replace(json, err, "%s/hardware.json", run_dir);
    json_decref(json);
    json_decref(found);
    return status;
}
