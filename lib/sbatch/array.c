/* Reads --array, and writes the matrix that runs its tasks. */
#include "lib/sbatch/array.h"

#include "lib/memory.h"
#include "lib/sbatch/script.h"
#include "lib/spec/matrix.h"
#include "lib/text.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { ARRAY_INDEX_MAX = 4000000 }; /* the greatest that MaxArraySize allows */

static bool read_number(const char **at, uint32_t *ret_number)
{
    char *end;
    if (!isdigit((unsigned char)**at))
        return false;
    unsigned long number = strtoul(*at, &end, 10);
    *at = end;
    *ret_number = (uint32_t)number;
    return number <= ARRAY_INDEX_MAX;
}

/* Adds an index in its place, unless it is there already. */
static bool array_add(struct sbatch_array *array, uint32_t task)
{
    size_t place = array->count;
    while (place && array->tasks[place - 1] >= task)
        place--;
    if (place < array->count && array->tasks[place] == task)
        return true;
    if (array->count == MATRIX_MEMBERS_MAX)
        return false;
    memmove(&array->tasks[place + 1], &array->tasks[place],
            (array->count - place) * sizeof *array->tasks);
    array->tasks[place] = task;
    array->count++;
    return true;
}

/* Reads `4`, `5-7` or `0-30:10`. `ret_fits`: there was room for all tasks. */
static bool read_range(struct sbatch_array *array, const char **at, bool *ret_fits)
{
    uint32_t first, last, step = 1;
    if (!read_number(at, &first))
        return false;
    last = first;
    if (**at == '-' && (++*at, !read_number(at, &last) || last < first))
        return false;
    if (last > first && **at == ':' && (++*at, !read_number(at, &step) || !step))
        return false;
    for (uint32_t task = first; *ret_fits && task <= last; task += step)
        *ret_fits = array_add(array, task);
    return true;
}

static bool array_parse(struct sbatch_array *array, const char *value, bool *ret_fits)
{
    const char *at = value;
    *ret_fits = true;
    do {
        if (!read_range(array, &at, ret_fits))
            return false;
    } while (*at == ',' && at++);
    if (*at == '%' && (++at, !read_number(&at, &array->lanes)))
        return false;
    return !*at;
}

void sbatch_array_read(const struct sbatch_script *script, struct sbatch_array *ret_array)
{
    const char *value = sbatch_given(script, "array")->value;
    bool fits;
    *ret_array = (struct sbatch_array){0};
    if (!value)
        return;
    ret_array->tasks = xcalloc(MATRIX_MEMBERS_MAX + 1, sizeof *ret_array->tasks);
    if (!array_parse(ret_array, value, &fits))
        sbatch_refuse(script, "array",
                      "'%s' is not a list of tasks, such as 0-15, 1,3,5-7 or 0-30:10%%4", value);
    else if (!fits)
        sbatch_refuse(script, "array", "'%s' has more than %d tasks, the most that a matrix takes",
                      value, MATRIX_MEMBERS_MAX);
}

void sbatch_array_fini(struct sbatch_array *array)
{
    free(array->tasks);
    *array = (struct sbatch_array){0};
}

void sbatch_array_write_keys(const struct sbatch_array *array, struct text *spec)
{
    if (!array->count)
        return;
    text_add(spec, "    matrix: {array_task: [");
    for (size_t i = 0; i < array->count; i++)
        text_addf(spec, "%s%u", i ? ", " : "", array->tasks[i]);
    text_add(spec, "]}\n");
    if (!array->lanes || array->lanes >= array->count)
        return;
    text_addf(spec, "    pack: {serial: %u}\n", array->lanes);
    /* Each task of sbatch has all of --time. */
    text_add(spec, "    linger: 0s # each task has a job of its own\n");
}

/* The distance between the indices; 1 if it is not the same everywhere. */
static uint32_t array_step(const struct sbatch_array *array)
{
    uint32_t step = array->count > 1 ? array->tasks[1] - array->tasks[0] : 1;
    for (size_t i = 2; i < array->count; i++)
        if (array->tasks[i] - array->tasks[i - 1] != step)
            return 1;
    return step;
}

void sbatch_array_write_run(const struct sbatch_array *array, const char *phase, struct text *run)
{
    if (!array->count)
        return;
    text_addf(run,
              "export SLURM_ARRAY_TASK_ID=$array_task SLURM_ARRAY_TASK_COUNT=%zu "
              "SLURM_ARRAY_TASK_MIN=%u SLURM_ARRAY_TASK_MAX=%u SLURM_ARRAY_TASK_STEP=%u\n",
              array->count, array->tasks[0], array->tasks[array->count - 1], array_step(array));
    text_addf(run,
              "SLURM_ARRAY_JOB_ID=${PHASED_OUT%%/*/out}/array.%s\n"
              "echo \"$SLURM_JOB_ID\" 2>/dev/null >\"$SLURM_ARRAY_JOB_ID.$array_task\" || true\n"
              "ln \"$SLURM_ARRAY_JOB_ID.$array_task\" \"$SLURM_ARRAY_JOB_ID\" 2>/dev/null || true\n"
              "rm -f \"$SLURM_ARRAY_JOB_ID.$array_task\"\n"
              "read -r SLURM_ARRAY_JOB_ID 2>/dev/null <\"$SLURM_ARRAY_JOB_ID\" || "
              "SLURM_ARRAY_JOB_ID=$SLURM_JOB_ID\n"
              "export SLURM_ARRAY_JOB_ID\n",
              phase);
}
