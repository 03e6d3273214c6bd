/* Whether the file system has space for the next checkpoints of a run.
 *
 * The first node looks some seconds after a checkpoint has become whole, if nothing has changed
 * since: then no checkpoint is being written, and old checkpoints are already removed. The next
 * checkpoint needs as much space as the newest whole checkpoint. Only space_left() does I/O. */
#ifndef PHASED_WORKER_NODE_SPACE_H
#define PHASED_WORKER_NODE_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct saved;

/* What a look at the checkpoints has found. */
struct space_look {
    uint64_t bytes;   /* of all checkpoints that exist, whole or not */
    uint64_t size;    /* of the newest whole checkpoint; 0: not known */
    uint64_t changes; /* grows when a checkpoint is new or has changed */
    unsigned saved;   /* how many checkpoints this run has saved */
    unsigned bound;   /* so many more come until `keep` removes one for each; UINT_MAX: no `keep` */
    bool is_outside;  /* some are not in the folder of the phase, where phased may delete files */
};

/* What is remembered between two looks. Zero-initialised: no look was taken. */
struct space {
    bool has_looked;
    struct space_look last;
    int64_t changed_ms; /* when the checkpoints last changed */
    /* From the last judgement: */
    unsigned saved; /* how many checkpoints the run had saved */
    uint64_t bytes; /* of all checkpoints */
    uint64_t peak;  /* the most bytes of all checkpoints since then */
    int64_t judged_ms;
    bool is_few; /* the run was warned, and the space has not grown since */
};

/* What a judgement needs to know, besides the free bytes. */
struct space_facts {
    uint64_t size;
    unsigned bound;
    bool is_outside; /* as above */
    bool is_begin;   /* the run begins: it has saved nothing yet */
    bool has_grown;  /* since the last judgement the checkpoints have grown by more than half a
                      * checkpoint */
    bool has_peaked; /* at some moment since the last judgement the checkpoints were larger by so
                      * much: the program writes a checkpoint before it removes an old checkpoint */
    double every_s;  /* from one checkpoint to the next; 0: unknown */
};

enum space_verdict {
    SPACE_FINE,
    SPACE_FEW,  /* few more checkpoints fit: warn */
    SPACE_FULL, /* the next checkpoint does not fit: hold the phase */
};

/* Takes a look. Returns whether it is time to judge, with the facts. */
bool space_look(struct space *space, const struct space_look *look, int64_t now_ms,
                struct space_facts *ret_facts);

enum space_verdict space_judge(const struct space_facts *facts, uint64_t free_bytes);

/* What a person should know, with all figures. `spare` are checkpoints that the phase could do
 * without, the largest first. The caller frees the text. */
char *space_warning(const struct space_facts *facts, uint64_t free_bytes, const char *folder,
                    const struct saved *const *spare, size_t spare_count);

/* Why the phase is held, in few words. The caller frees the text. */
char *space_reason(const struct space_facts *facts, uint64_t free_bytes,
                   const struct saved *const *spare, size_t spare_count);

/* Returns the deepest folder that all checkpoints of the pattern have in common; the caller frees
 * it. */
char *space_folder(const char *pattern);

/* How many bytes the user may still write below the folder. Returns false if that is not known. A
 * quota of a folder or a project counts where the file system shows it as its size. A quota of the
 * user is not seen. */
bool space_left(const char *folder, uint64_t *ret_bytes);

#endif
