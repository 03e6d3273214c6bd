/* Counts idle time. */
#include "worker/telemetry/idle.h"

#include "lib/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void idle_init(struct idle *idle, unsigned seconds)
{
    *idle = (struct idle){.parts = seconds < IDLE_PARTS ? seconds : IDLE_PARTS};
    if (idle->parts)
        idle->part_s = (seconds + idle->parts - 1) / idle->parts;
}

/* --- Counting --------------------------------------------------------------------------------- */

/* The GPUs have changed, so the old counts are dropped. */
static void idle_begin_anew(struct idle *idle, const struct gpu_second *second)
{
    memset(idle->gpus, 0, sizeof idle->gpus);
    memcpy(idle->numbers, second->gpus, second->count * sizeof *second->gpus);
    idle->count = second->count;
    idle->at = idle->seconds = 0;
}

/* Returns the mean of the whole window. NaN: too little of the window is known. */
static double idle_gpu_mean(const struct idle *idle, const struct idle_gpu *gpu)
{
    double sum = 0;
    unsigned count = 0;
    for (unsigned i = 0; i < idle->parts; i++) {
        sum += gpu->sums[i];
        count += gpu->counts[i];
    }
    bool is_known = gpu->parts == idle->parts && 2 * count > idle->parts * idle->part_s;
    return is_known ? sum / count : NAN;
}

/* A part of the window is full. Returns whether the GPU has changed between idle and busy. */
static bool idle_gpu_judge(const struct idle *idle, struct idle_gpu *gpu)
{
    bool was_idle = gpu->is_idle;
    if (gpu->parts < idle->parts)
        gpu->parts++;
    if (was_idle) {
        gpu->idle_s += idle->part_s;
        unsigned count = gpu->counts[idle->at];
        gpu->is_idle = count == 0 || gpu->sums[idle->at] / count < IDLE_BELOW;
    } else if (idle_gpu_mean(idle, gpu) < IDLE_BELOW) {
        gpu->is_idle = true;
        gpu->idle_s = (uint64_t)idle->parts * idle->part_s;
    }
    return gpu->is_idle != was_idle;
}

/* --- Telling ---------------------------------------------------------------------------------- */

/* Adds "GPU 3", "GPUs 0-3, 7" or "all 8 GPUs": the GPUs in `meant`. */
static void idle_add_names(const struct idle *idle, const bool *meant, struct text *text)
{
    struct text list = {0};
    unsigned count = 0;
    for (unsigned i = 0; i < idle->count; i++) {
        unsigned first = i;
        if (!meant[i])
            continue;
        while (i + 1 < idle->count && meant[i + 1] && idle->numbers[i + 1] == idle->numbers[i] + 1)
            i++;
        text_addf(&list, "%s%u", count ? ", " : "", idle->numbers[first]);
        if (i > first)
            text_addf(&list, "-%u", idle->numbers[i]);
        count += i - first + 1;
    }
    if (count == idle->count && count > 1)
        text_addf(text, "all %u GPUs", count);
    else
        text_addf(text, "GPU%s %s", count > 1 ? "s" : "", text_string(&list));
    text_fini(&list);
}

/* Adds the GPUs that have become idle (`are_idle`) or busy. */
static void idle_tell(const struct idle *idle, const bool *changed, bool are_idle,
                      struct text *text)
{
    bool meant[SECOND_GPUS_MAX];
    unsigned count = 0;
    double sum = 0;
    uint64_t longest_s = 0;
    for (unsigned i = 0; i < idle->count; i++) {
        const struct idle_gpu *gpu = &idle->gpus[i];
        meant[i] = changed[i] && gpu->is_idle == are_idle;
        if (!meant[i])
            continue;
        sum += are_idle ? idle_gpu_mean(idle, gpu) : 0;
        longest_s = gpu->idle_s > longest_s ? gpu->idle_s : longest_s;
        count++;
    }
    if (!count)
        return;
    text_add(text, text->size ? "; " : "");
    idle_add_names(idle, meant, text);
    text_add(text, count > 1  ? are_idle ? " are idle" : " work again"
                   : are_idle ? " is idle"
                              : " works again");
    if (are_idle)
        text_addf(text, ": busy for %.1f %% of the last ", sum / count);
    else
        text_add(text, ", after ");
    char *time = text_time((double)longest_s);
    text_add(text, time);
    free(time);
}

/* A part of the window is full. */
static char *idle_look(struct idle *idle)
{
    bool changed[SECOND_GPUS_MAX], has_changed = false;
    struct text text = {0};
    for (unsigned i = 0; i < idle->count; i++) {
        changed[i] = idle_gpu_judge(idle, &idle->gpus[i]);
        has_changed |= changed[i];
    }
    if (!has_changed || idle->told == IDLE_TELL_MAX)
        return NULL;
    idle->told++;
    idle_tell(idle, changed, true, &text);
    idle_tell(idle, changed, false, &text);
    return text_steal(&text);
}

/* --- Seconds ---------------------------------------------------------------------------------- */

char *idle_add(struct idle *idle, const struct gpu_second *second)
{
    if (!idle->parts)
        return NULL;
    if (!second_is_of(second, idle->numbers, idle->count))
        idle_begin_anew(idle, second);
    for (unsigned i = 0; i < idle->count; i++) {
        double util = second->values[GPU_UTIL][i];
        if (isnan(util))
            continue;
        idle->gpus[i].sums[idle->at] += util;
        idle->gpus[i].counts[idle->at]++;
    }
    if (++idle->seconds < idle->part_s)
        return NULL;
    char *message = idle_look(idle);
    idle->seconds = 0;
    idle->at = (idle->at + 1) % idle->parts;
    for (unsigned i = 0; i < idle->count; i++) {
        idle->gpus[i].sums[idle->at] = 0;
        idle->gpus[i].counts[idle->at] = 0;
    }
    return message;
}
