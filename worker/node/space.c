/* Judges whether the next checkpoints fit on their file system. */
#include "worker/node/space.h"

#include "lib/amount.h"
#include "lib/saved.h"
#include "lib/text.h"

#include <inttypes.h>
#include <string.h>
#include <sys/statvfs.h>

enum {
    SPACE_SETTLE_MS = 10000, /* without a change, until whoever removes old checkpoints is done */
    SPACE_FEW_MAX = 4,       /* warn when at most so many more fit */
    SPACE_COMMAND_MAX = 600, /* bytes: a warning of the history has at most 1024 */
};

/* Whether the checkpoints have grown by a checkpoint. Half of one is enough, since checkpoints
 * differ in size. */
static bool space_is_more(uint64_t bytes, uint64_t before, uint64_t size)
{
    return bytes > before && bytes - before > size / 2;
}

/* Remembers the judgement, and says what has changed since the judgement before. */
static void space_take(struct space *space, const struct space_look *look, int64_t now_ms,
                       struct space_facts *ret_facts)
{
    unsigned count = look->saved - space->saved;
    *ret_facts = (struct space_facts){
        .size = look->size,
        .bound = look->bound,
        .is_outside = look->is_outside,
        .is_begin = look->saved == 0,
        .has_grown = space_is_more(look->bytes, space->bytes, look->size),
        .has_peaked = space_is_more(space->peak, space->bytes, look->size),
        .every_s = space->saved ? (double)(now_ms - space->judged_ms) / 1000 / count : 0,
    };
    space->saved = look->saved;
    space->bytes = space->peak = look->bytes;
    space->judged_ms = now_ms;
}

bool space_look(struct space *space, const struct space_look *look, int64_t now_ms,
                struct space_facts *ret_facts)
{
    bool is_first = !space->has_looked;
    bool has_changed = look->changes != space->last.changes || look->bytes != space->last.bytes;
    space->has_looked = true;
    space->last = *look;
    if (look->bytes > space->peak)
        space->peak = look->bytes;
    if (is_first || has_changed)
        space->changed_ms = now_ms;
    if (is_first) {
        space->bytes = look->bytes;
        space_take(space, look, now_ms, ret_facts);
        return look->size > 0;
    }
    bool is_settled = now_ms - space->changed_ms >= SPACE_SETTLE_MS;
    if (!is_settled || look->saved <= space->saved || !look->size)
        return false;
    space_take(space, look, now_ms, ret_facts);
    return true;
}

/* A program that removes an old checkpoint before it writes the next one needs no more space. It is
 * not held. A run that begins is not held either: a person may have released it knowingly. */
enum space_verdict space_judge(const struct space_facts *facts, uint64_t free_bytes)
{
    uint64_t fit = free_bytes / facts->size;
    if (facts->is_begin)
        return fit == 0 ? SPACE_FEW : SPACE_FINE;
    if (fit == 0)
        return facts->has_peaked ? SPACE_FULL : SPACE_FINE;
    return fit <= SPACE_FEW_MAX && facts->has_grown && fit <= facts->bound ? SPACE_FEW : SPACE_FINE;
}

static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB", "PB"};

/* Returns the unit for so many bytes, and in `ret_amount` the bytes in this unit. */
static size_t space_unit(uint64_t bytes, double *ret_amount)
{
    size_t unit = 0;
    *ret_amount = (double)bytes;
    for (; *ret_amount >= 999.95 && unit + 1 < sizeof units / sizeof units[0]; unit++)
        *ret_amount /= 1000;
    return unit;
}

static void space_add_bytes(struct text *text, uint64_t bytes, int decimals)
{
    double amount;
    size_t unit = space_unit(bytes, &amount);
    text_addf(text, "%.*f %s", unit ? decimals : 0, amount, units[unit]);
}

static void space_add_duration(struct text *text, double seconds)
{
    if (seconds < 7200)
        text_addf(text, "%.0f min", seconds < 60 ? 1 : seconds / 60);
    else if (seconds < 2.0 * 86400)
        text_addf(text, "%.0f hours", seconds / 3600);
    else
        text_addf(text, "%.0f days", seconds / 86400);
}

static uint64_t space_sum(const struct saved *const *spare, size_t count)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += spare[i]->extent.bytes;
    return bytes;
}

/* Adds the command that removes as many of the checkpoints as a warning has room for. */
static void space_add_command(struct text *text, const struct saved *const *spare, size_t count)
{
    struct text command = {0}, one = {0};
    size_t i = 0;
    for (; i < count; i++) {
        text_clear(&one);
        for (size_t j = 0; j < spare[i]->path_count; j++) {
            text_add(&one, " ");
            text_add_quoted(&one, spare[i]->paths[j]);
        }
        if (command.size + one.size > SPACE_COMMAND_MAX)
            break;
        text_add(&command, text_string(&one));
    }
    if (i > 0)
        text_addf(text, ": rm -r%s", text_string(&command));
    else
        text_addf(text, ": step %" PRId64 " has the largest", spare[0]->step);
    text_fini(&command);
    text_fini(&one);
}

static void space_add_figures(struct text *text, const struct space_facts *facts,
                              uint64_t free_bytes)
{
    double left, needed; /* by one checkpoint more than fits */
    bool is_alike = space_unit(free_bytes, &left) ==
                    space_unit((free_bytes / facts->size + 1) * facts->size, &needed);
    int decimals = is_alike ? amount_decimals(left, needed, 1) : 1;
    text_add(text, ": ");
    space_add_bytes(text, free_bytes, decimals);
    text_add(text, " free, ");
    space_add_bytes(text, facts->size, decimals);
    text_add(text, " for each checkpoint");
}

char *space_warning(const struct space_facts *facts, uint64_t free_bytes, const char *folder,
                    const struct saved *const *spare, size_t spare_count)
{
    uint64_t fit = free_bytes / facts->size;
    struct text text = {0};
    if (fit == 0)
        text_addf(&text, "no room for the next checkpoint in %.200s", folder);
    else
        text_addf(&text, "room for only %" PRIu64 " more checkpoint%s in %.200s", fit,
                  fit == 1 ? "" : "s", folder);
    space_add_figures(&text, facts, free_bytes);
    if (fit > 0 && facts->every_s > 0) {
        text_add(&text, ", full in ");
        space_add_duration(&text, (double)fit * facts->every_s);
        text_add(&text, " at this pace");
    }
    if (spare_count == 0) {
        text_add(&text,
                 facts->is_outside
                     ? "; phased deletes nothing outside $PHASED_OUT: make room yourself"
                     : "; no old checkpoint of the phase can be deleted: make room otherwise");
        return text_steal(&text);
    }
    text_addf(&text, "; if you do not need them, delete %zu old checkpoint%s (", spare_count,
              spare_count == 1 ? "" : "s");
    space_add_bytes(&text, space_sum(spare, spare_count), 1);
    text_add(&text, ")");
    space_add_command(&text, spare, spare_count);
    return text_steal(&text);
}

char *space_reason(const struct space_facts *facts, uint64_t free_bytes,
                   const struct saved *const *spare, size_t spare_count)
{
    struct text text = {0};
    text_add(&text, "no room for the next checkpoint");
    space_add_figures(&text, facts, free_bytes);
    if (spare_count > 0) {
        text_addf(&text, "; delete old checkpoints (%zu ha%s ", spare_count,
                  spare_count == 1 ? "s" : "ve");
        space_add_bytes(&text, space_sum(spare, spare_count), 1);
        text_add(&text, ", `phasectl why` names them), then release");
    } else {
        text_add(&text, "; make room, then release");
    }
    return text_steal(&text);
}

char *space_folder(const char *pattern)
{
    struct text folder = {0};
    size_t size = 1; /* up to the last slash */
    for (; *pattern && !strchr("*?[{", *pattern); pattern++) {
        pattern += *pattern == '\\' && pattern[1];
        text_add_bytes(&folder, pattern, 1);
        if (*pattern == '/')
            size = folder.size;
    }
    char *fixed = text_format("%.*s", (int)size, text_string(&folder));
    text_fini(&folder);
    return fixed;
}

bool space_left(const char *folder, uint64_t *ret_bytes)
{
    struct statvfs found;
    if (statvfs(folder, &found) < 0 || found.f_blocks == 0)
        return false; /* some file systems tell nothing */
    *ret_bytes = (uint64_t)found.f_bavail * found.f_frsize;
    return true;
}
