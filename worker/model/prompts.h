/* The files of `phase-model generate`: lines with prompts, and JSON lines with texts, in the same
 * order. Lines that the output has already count as done, so a run that was stopped goes on. */
#ifndef PHASED_WORKER_MODEL_PROMPTS_H
#define PHASED_WORKER_MODEL_PROMPTS_H

#include <stddef.h>
#include <stdint.h>

struct error;

struct prompt {
    const uint8_t *bytes; /* not NUL-terminated */
    size_t size;
};

struct prompts {
    const char *output_path; /* borrowed */
    char *data;              /* the input */
    struct prompt *prompts;  /* [count]; they point into the data */
    size_t count;
    size_t done; /* lines that the output had when it was opened */
    int output;
};

/* Reads the lines of the input. The prompts must get prompts_close() also after a failure. */
int prompts_open(struct prompts *prompts, const char *input_path, const char *output_path,
                 struct error *err);
/* Returns `status`, or a failure to write the output. */
int prompts_close(struct prompts *prompts, int status, struct error *err);

/* Adds the text of a line to the output. Call it for the lines in their order. */
int prompts_write(struct prompts *prompts, size_t line, const char *text, size_t size,
                  struct error *err);
/* Returns when the output is on the disk. */
int prompts_sync(struct prompts *prompts, struct error *err);

#endif
