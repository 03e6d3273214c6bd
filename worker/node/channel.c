/* Writes and reads the lines of the channel. */
#include "worker/node/channel.h"

#include "lib/json.h"
#include "lib/metrics/values.h"
#include "lib/text.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHANNEL_LINE_MAX = 65536 };

static int channel_usage(void)
{
    fprintf(stderr, "usage: phase-worker metric [step=N] NAME=NUMBER...\n"
                    "       phase-worker checkpoint PATH --step N\n");
    return 2;
}

/* Appends one line to the channel. A full disk may have cut the line before, so the new line begins
 * with a line feed of its own. Takes over the reference. */
static int channel_tell(json_t *message)
{
    const char *path = getenv("PHASED_CHANNEL");
    int exit_code = 1;
    char *line = json_text(message, JSON_COMPACT | JSON_REAL_PRECISION(15));
    json_decref(message);
    char *whole = text_format("\n%s\n", line);
    free(line);
    if (!path || !*path) {
        fprintf(stderr, "phase-worker: PHASED_CHANNEL is not set: this is for scripts that "
                        "phase-worker runs\n");
        goto out;
    }
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    size_t size = strlen(whole);
    ssize_t written = fd < 0 ? -1 : write(fd, whole, size);
    if (written == (ssize_t)size)
        exit_code = 0;
    else
        fprintf(stderr, "phase-worker: cannot write %s: %s\n", path,
                written < 0 ? strerror(errno) : "no space left");
    if (fd >= 0)
        close(fd);
out:
    free(whole);
    return exit_code;
}

static bool channel_is_name(const char *name, size_t size)
{
    return size > 0 && size <= EXTRACT_NAME_MAX && !isdigit((unsigned char)name[0]) &&
           text_name_size(name, "_") >= size;
}

static bool channel_read_step(const char *text, json_int_t *ret_step)
{
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (end == text || *end || errno || !values_is_step((double)number))
        return false;
    *ret_step = number;
    return true;
}

/* Adds one `name=number` argument to the metric. */
static bool channel_add(json_t *metric, const char *argument)
{
    const char *equals = strchr(argument, '=');
    char *end, name[EXTRACT_NAME_MAX + 1];
    json_int_t step;
    if (!equals || !channel_is_name(argument, (size_t)(equals - argument)))
        return false;
    size_t size = (size_t)(equals - argument);
    for (size_t i = 0; i < size; i++)
        name[i] = (char)tolower((unsigned char)argument[i]);
    name[size] = '\0';
    if (text_equal(name, "step"))
        return channel_read_step(equals + 1, &step) &&
               json_object_set_new(metric, "step", json_integer(step)) == 0;
    double value = strtod(equals + 1, &end);
    if (end == equals + 1 || *end)
        return false;
    return json_object_set_new(json_object_get(metric, "values"), name, json_double(value)) == 0;
}

int channel_metric_main(int argc, char **argv)
{
    json_t *metric = json_pack("{s:{}}", "values");
    for (int i = 1; i < argc; i++)
        if (!channel_add(metric, argv[i])) {
            fprintf(stderr, "phase-worker: must be NAME=NUMBER: %s\n", argv[i]);
            json_decref(metric);
            return 2;
        }
    if (json_object_size(json_object_get(metric, "values")) == 0) {
        json_decref(metric);
        return channel_usage();
    }
    return channel_tell(json_pack("{s:o}", "metric", metric));
}

int channel_checkpoint_main(int argc, char **argv)
{
    const char *path = NULL;
    json_int_t step = -1;
    for (int i = 1; i < argc; i++) {
        bool is_step = text_equal(argv[i], "--step") && i + 1 < argc;
        if (is_step && channel_read_step(argv[i + 1], &step))
            i++;
        else if (!is_step && !path && argv[i][0] != '-')
            path = argv[i];
        else
            return channel_usage();
    }
    if (!path || step < 0)
        return channel_usage();
    char *whole = realpath(path, NULL);
    if (!whole) {
        fprintf(stderr, "phase-worker: no checkpoint at %s: %s\n", path, strerror(errno));
        return 1;
    }
    json_t *message = json_pack("{s:{s:s, s:I}}", "checkpoint", "path", whole, "step", step);
    if (!message)
        fprintf(stderr, "phase-worker: the path of the checkpoint is not UTF-8\n");
    free(whole);
    return message ? channel_tell(message) : 1;
}

static void channel_read_metric(const struct channel_listener *listener, const json_t *metric)
{
    struct extract_value values[EXTRACT_VALUES_MAX];
    struct extract_row row = {.values = values};
    const json_t *step = json_object_get(metric, "step");
    const char *name;
    json_t *value;
    row.has_step = json_is_integer(step) && values_is_step((double)json_integer_value(step));
    row.step = row.has_step ? json_integer_value(step) : 0;
    json_object_foreach(json_object_get(metric, "values"), name, value)
    {
        if (!channel_is_name(name, strlen(name)) ||
            !json_double_read(value, &values[row.count].value))
            continue;
        values[row.count++].name = name;
        if (row.count == EXTRACT_VALUES_MAX) {
            listener->metric(listener->context, &row);
            row.count = 0;
        }
    }
    if (row.count)
        listener->metric(listener->context, &row);
}

void channel_read(const struct channel_listener *listener, const char *line, size_t size)
{
    json_t *message = size <= CHANNEL_LINE_MAX ? json_loadb(line, size, 0, NULL) : NULL;
    const json_t *metric = json_object_get(message, "metric");
    const json_t *checkpoint = json_object_get(message, "checkpoint");
    const char *path = json_string_value(json_object_get(checkpoint, "path"));
    json_int_t step = json_integer_value(json_object_get(checkpoint, "step"));
    if (metric)
        channel_read_metric(listener, metric);
    if (path && values_is_step((double)step))
        listener->checkpoint(listener->context, path, step);
    json_decref(message);
}
