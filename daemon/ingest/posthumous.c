/* What a run without an outcome has left, if nobody will write the outcome any more. If its job is
 * started again, the lead judges the journals in the same way (worker/protocol/posthumous.c). */
#include "daemon/core/model.h"
#include "daemon/ingest/ingest_private.h"
#include "daemon/launch/launch.h"
#include "lib/file.h"
#include "lib/protocol/journal_file.h"
#include "lib/protocol/run_file.h"
#include "lib/text.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void keep_last(void *context, const struct entry *entry)
{
    json_t **last = context;
    json_decref(*last);
    *last = json_incref(entry->json);
}

/* The last whole entry of this type; NULL: there is no such entry. A new reference. */
static json_t *last_entry(const char *run_dir, const char *writer, enum entry_type type)
{
    char *path = journal_path(run_dir, writer);
    json_t *last = NULL;
    journal_visit(path, (int)type, keep_last, &last);
    free(path);
    return last;
}

/* Whether the outputs exist. A phase that splits its input is never complete here, because only the
 * lead or the next run takes the parts away. */
static bool is_complete(const struct folder *folder)
{
    struct run_file run;
    file_look_again(folder->out);                 /* an earlier run may have had no outputs */
    (void)run_file_read(folder->run, &run, NULL); /* may fail: not complete */
    const json_t *output;
    bool is_whole = run.spec && !json_is_object(json_object_get(run.spec, "shard"));
    size_t i;
    json_array_foreach(json_object_get(run.spec, "outputs"), i, output)
    {
        const char *name = json_string_value(output);
        char *file = text_format("%s/%s", folder->out, name ? name : "");
        is_whole = is_whole && access(file, F_OK) == 0;
        free(file);
    }
    run_file_fini(&run);
    return is_whole;
}

bool posthumous_is_success(const struct folder *folder)
{
    json_t *started = last_entry(folder->run, "lead", ENTRY_STARTED);
    json_t *stopping = last_entry(folder->run, "lead", ENTRY_STOPPING);
    const json_t *nodes = entry_read(started).nodes, *node;
    bool is_success = json_array_size(nodes) > 0 && !stopping && is_complete(folder);
    size_t i;
    json_array_foreach(nodes, i, node)
    {
        const char *name = json_string_value(node);
        json_t *exited =
            is_success && text_is_node(name) ? last_entry(folder->run, name, ENTRY_EXITED) : NULL;
        json_t *suspect = exited ? last_entry(folder->run, name, ENTRY_SUSPECT) : NULL;
        is_success = entry_read(exited).is_done && !suspect;
        json_decref(suspect);
        json_decref(exited);
    }
    json_decref(stopping);
    json_decref(started);
    return is_success;
}

void posthumous_words(const struct folder *folder, char *ret_words, size_t size)
{
    char tail[REASON_MAX] = "";
    char *path = text_format("%s/job.log", folder->own);
    file_look_again(folder->own); /* a node makes the file */
    FILE *file = fopen(path, "re");
    free(path);
    ret_words[0] = '\0';
    if (!file)
        return;
    (void)fseek(file, -(long)(sizeof tail - 1),
                SEEK_END); /* a shorter file is read from its start */
    size_t count = fread(tail, 1, sizeof tail - 1, file);
    (void)fclose(file); /* it was only read */
    while (count > 0 && tail[count - 1] == '\n')
        tail[--count] = '\0';
    const char *line = strrchr(tail, '\n');
    (void)snprintf(ret_words, size, "%s", line ? line + 1 : tail);
}
