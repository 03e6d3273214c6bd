/* Judges whether the next checkpoints fit on their file system. */
#include "worker/node/room.h"

#include "lib/saved.h"
#include "lib/text.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

enum {
    ROOM_SETTLE_MS = 10000, /* without a change, until whoever removes old checkpoints is done */
    ROOM_FEW_MAX = 4,       /* warn when at most so many more fit */
    ROOM_COMMAND_MAX = 600, /* bytes: a warning of the history has at most 1024 */
};

/* Whether the checkpoints have grown by a checkpoint. Half of one is enough, since checkpoints
 * differ in size. */
static bool room_is_more(uint64_t bytes, uint64_t before, uint64_t size)
{
    return bytes > before && bytes - before > size / 2;
}

/* Remembers the judgement, and says what has changed since the one before. */
static void room_take(struct room *room, const struct room_look *look, int64_t now_ms,
                      struct room_facts *ret_facts)
{
    unsigned count = look->saved - room->saved;
    *ret_facts = (struct room_facts){
        .size = look->size,
        .bound = look->bound,
        .is_begin = look->saved == 0,
        .has_grown = room_is_more(look->bytes, room->bytes, look->size),
        .has_peaked = room_is_more(room->peak, room->bytes, look->size),
        .every_s = room->saved ? (double)(now_ms - room->judged_ms) / 1000 / count : 0,
    };
    room->saved = look->saved;
    room->bytes = room->peak = look->bytes;
    room->judged_ms = now_ms;
}

bool room_look(struct room *room, const struct room_look *look, int64_t now_ms,
               struct room_facts *ret_facts)
{
    bool is_first = !room->has_looked;
    bool has_changed = look->changes != room->last.changes || look->bytes != room->last.bytes;
    room->has_looked = true;
    room->last = *look;
    if (look->bytes > room->peak)
        room->peak = look->bytes;
    if (is_first || has_changed)
        room->changed_ms = now_ms;
    if (is_first) {
        room->bytes = look->bytes;
        room_take(room, look, now_ms, ret_facts);
        return look->size > 0;
    }
    bool is_settled = now_ms - room->changed_ms >= ROOM_SETTLE_MS;
    if (!is_settled || look->saved <= room->saved || !look->size)
        return false;
    room_take(room, look, now_ms, ret_facts);
    return true;
}

/* A program that removes an old checkpoint before it writes the next one needs no more room. It is
 * not held. A run that begins is not held either: a person may have released it knowingly. */
enum room_verdict room_judge(const struct room_facts *facts, uint64_t free_bytes)
{
    uint64_t fit = free_bytes / facts->size;
    if (facts->is_begin)
        return fit == 0 ? ROOM_FEW : ROOM_FINE;
    if (fit == 0)
        return facts->has_peaked ? ROOM_FULL : ROOM_FINE;
    return fit <= ROOM_FEW_MAX && facts->has_grown && fit <= facts->bound ? ROOM_FEW : ROOM_FINE;
}

static void room_add_bytes(struct text *text, uint64_t bytes)
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB", "PB"};
    double amount = (double)bytes;
    size_t unit = 0;
    for (; amount >= 999.95 && unit + 1 < sizeof units / sizeof units[0]; unit++)
        amount /= 1000;
    text_addf(text, unit ? "%.1f %s" : "%.0f %s", amount, units[unit]);
}

static void room_add_duration(struct text *text, double seconds)
{
    if (seconds < 7200)
        text_addf(text, "%.0f min", seconds < 60 ? 1 : seconds / 60);
    else if (seconds < 2.0 * 86400)
        text_addf(text, "%.0f hours", seconds / 3600);
    else
        text_addf(text, "%.0f days", seconds / 86400);
}

static uint64_t room_sum(const struct saved *const *spare, size_t count)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += spare[i]->extent.bytes;
    return bytes;
}

/* Adds the command that removes as many of the checkpoints as a warning has room for. */
static void room_add_command(struct text *text, const struct saved *const *spare, size_t count)
{
    struct text command = {0}, one = {0};
    size_t i = 0;
    for (; i < count; i++) {
        text_clear(&one);
        for (size_t j = 0; j < spare[i]->path_count; j++) {
            text_add(&one, " ");
            text_add_quoted(&one, spare[i]->paths[j]);
        }
        if (command.size + one.size > ROOM_COMMAND_MAX)
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

static void room_add_figures(struct text *text, const struct room_facts *facts, uint64_t free_bytes)
{
    text_add(text, ": ");
    room_add_bytes(text, free_bytes);
    text_add(text, " free, ");
    room_add_bytes(text, facts->size);
    text_add(text, " for each checkpoint");
}

char *room_warning(const struct room_facts *facts, uint64_t free_bytes, const char *folder,
                   const struct saved *const *spare, size_t spare_count)
{
    uint64_t fit = free_bytes / facts->size;
    struct text text = {0};
    if (fit == 0)
        text_addf(&text, "no room for the next checkpoint in %.200s", folder);
    else
        text_addf(&text, "room for only %" PRIu64 " more checkpoint%s in %.200s", fit,
                  fit == 1 ? "" : "s", folder);
    room_add_figures(&text, facts, free_bytes);
    if (fit > 0 && facts->every_s > 0) {
        text_add(&text, ", full in ");
        room_add_duration(&text, (double)fit * facts->every_s);
        text_add(&text, " at this pace");
    }
    if (spare_count == 0) {
        text_add(&text, "; no old checkpoint of the phase can be deleted: make room otherwise");
        return text_steal(&text);
    }
    text_addf(&text, "; if you do not need them, delete %zu old checkpoint%s (", spare_count,
              spare_count == 1 ? "" : "s");
    room_add_bytes(&text, room_sum(spare, spare_count));
    text_add(&text, ")");
    room_add_command(&text, spare, spare_count);
    return text_steal(&text);
}

char *room_reason(const struct room_facts *facts, uint64_t free_bytes,
                  const struct saved *const *spare, size_t spare_count)
{
    struct text text = {0};
    text_add(&text, "no room for the next checkpoint");
    room_add_figures(&text, facts, free_bytes);
    if (spare_count > 0) {
        text_addf(&text, "; delete old checkpoints (%zu ha%s ", spare_count,
                  spare_count == 1 ? "s" : "ve");
        room_add_bytes(&text, room_sum(spare, spare_count));
        text_add(&text, ", `phasectl why` names them), then release");
    } else {
        text_add(&text, "; make room, then release");
    }
    return text_steal(&text);
}

bool room_free(const char *folder, uint64_t *ret_bytes)
{
    struct statvfs space;
    if (statvfs(folder, &space) < 0 || space.f_blocks == 0)
        return false; /* some file systems tell nothing */
    *ret_bytes = (uint64_t)space.f_bavail * space.f_frsize;
    return true;
}
