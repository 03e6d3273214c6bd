/* Writes names of files, and what copies the output of a script. */
#include "lib/sbatch/output.h"

#include "lib/sbatch/script.h"
#include "lib/text.h"

#include <stdlib.h>
#include <string.h>

enum { OUTPUT_WIDTH_MAX = 10 }; /* sbatch pads a number to at most this many digits */

/* What sbatch puts in place of %j and so on in a batch script, as words of bash. %b is the last
 * digit of %a; before Slurm 24.11 sbatch keeps %b. */
static const struct replacement {
    char letter;
    bool is_number;
    const char *alone, *in_array;
} replacements[] = {
    {'A', true, "${SLURM_JOB_ID}", "${SLURM_ARRAY_JOB_ID}"},
    {'a', true, "4294967294", "${SLURM_ARRAY_TASK_ID}"},
    {'b', true, "4", "$((SLURM_ARRAY_TASK_ID % 10))"},
    {'J', true, "${SLURM_JOB_ID}", "${SLURM_JOB_ID}"},
    {'j', true, "${SLURM_JOB_ID}", "${SLURM_JOB_ID}"},
    {'N', false, "$(uname -n | cut -d. -f1)", "$(uname -n | cut -d. -f1)"},
    {'n', true, "0", "0"},
    {'s', false, "batch", "batch"},
    {'t', true, "0", "0"},
    {'u', false, "$(id -un)", "$(id -un)"},
    {'x', false, "${SLURM_JOB_NAME}", "${SLURM_JOB_NAME}"},
};

static const struct replacement *replacement_of(char letter)
{
    for (size_t i = 0; i < sizeof replacements / sizeof *replacements; i++)
        if (letter && replacements[i].letter == letter)
            return &replacements[i];
    return NULL;
}

/* Adds a character within double quotes. */
static void add_quoted(struct text *word, char c)
{
    text_addf(word, "%s%c", strchr("\"$`\\", c) ? "\\" : "", c);
}

static void add_replacement(struct text *word, const struct replacement *replacement, long width,
                            bool is_array)
{
    const char *value = is_array ? replacement->in_array : replacement->alone;
    if (width > 0 && replacement->is_number)
        text_addf(word, "$(printf %%0%ldd %s)", width, value);
    else
        text_add(word, value);
}

/* A backslash anywhere turns the replacements off, and is itself removed. */
void sbatch_output_add_name(struct text *word, const char *pattern, bool is_array)
{
    bool is_literal = strchr(pattern, '\\');
    text_add(word, "\"");
    for (const char *at = pattern; *at; at++) {
        if (is_literal || *at != '%') {
            at += *at == '\\' && at[1];
            add_quoted(word, *at);
            continue;
        }
        char *letter;
        long width = strtol(at + 1, &letter, 10);
        bool is_good = width >= 0 && !strchr("+- \t", at[1]);
        const struct replacement *replacement = is_good ? replacement_of(*letter) : NULL;
        if (replacement) {
            add_replacement(word, replacement, width > OUTPUT_WIDTH_MAX ? OUTPUT_WIDTH_MAX : width,
                            is_array);
            at = letter;
        } else {
            at += at[1] == '%';
            text_add(word, "%");
        }
    }
    text_add(word, "\"");
}

static const char output_signals[] = "HUP INT QUIT TERM USR1 USR2";

/* phased_output NAME FILE: opens descriptor 3 for FILE, or fails after a warning. NAME is a link in
 * the folder of the phase, which leads later runs to the file of the first run. */
static void write_function(const struct sbatch_script *script, struct text *run)
{
    const char *mode = sbatch_given(script, "open-mode")->value;
    text_addf(run,
              "phased_output() { local file=$2 kept=${PHASED_OUT%%/*}/$1; "
              "[ \"${file:0:1}\" = / ] || file=$PWD/$file; "
              "if [ -L \"$kept\" ]; then "
              "[ \"$(readlink \"$kept\")\" = \"$file\" ] || "
              "{ mkdir -p \"${file%%/*}\" && ln -s \"$(readlink \"$kept\")\" \"$file\"; } "
              "2>/dev/null || true; file=$(readlink \"$kept\"); "
              "else mkdir -p \"${file%%/*}\" 2>/dev/null || true; %s"
              "ln -s \"$file\" \"$kept\" 2>/dev/null || true; fi; "
              "[ -n \"$(type -P tee)\" ] && { [ ! -e \"$file\" ] || [ -f \"$file\" ]; } && "
              "{ : >>\"$file\"; } 2>/dev/null && exec 3>>\"$file\" || "
              "{ echo \"phased: warning: cannot write $file: see \\`phasectl logs\\`\" >&2; "
              "return 1; }; }\n",
              mode && text_starts(mode, "a") ? "" : "{ : >\"$file\"; } 2>/dev/null || true; ");
}

/* `from` is the descriptor that is copied, `also` joins the other descriptor. tee is not a child of
 * the script, because `wait` would wait for tee. */
static void write_copy(struct text *run, const char *name, const char *pattern, bool is_array,
                       const char *from, const char *also)
{
    text_addf(run, "phased_output %s ", name);
    sbatch_output_add_name(run, pattern, is_array);
    text_addf(run, " && exec %s> >(tee -a /dev/fd/3 >&%s 2>/dev/null <&0 &)%s 3>&- || true\n", from,
              text_equal(from, "2") ? "2" : "1", also);
}

static bool is_kept(const char *pattern)
{
    return pattern && !text_equal(pattern, "/dev/null");
}

void sbatch_output_write_run(const struct sbatch_script *script, bool is_array, struct text *run)
{
    const char *output = sbatch_given(script, "output")->value;
    const char *error = sbatch_given(script, "error")->value;
    /* A person who edits the workflow does not want a file that nobody asked for. */
    if (!output && script->keeps_lines)
        output = is_array ? "slurm-%A_%a.out" : "slurm-%j.out";
    bool is_one = !error || (output && text_equal(output, error));
    if (!is_kept(output) && !is_kept(error))
        return;
    write_function(script, run);
    /* tee must outlive the signals that tell the script to save, and the signals after its end. tee
     * ignores them from its start on, because a short script may end before tee has begun. */
    text_addf(run, "trap '' %s\n", output_signals);
    if (is_kept(output))
        write_copy(run, "stdout", output, is_array, "", is_one ? " 2>&1" : "");
    if (!is_one && is_kept(error))
        write_copy(run, "stderr", error, is_array, "2", "");
    text_addf(run, "trap - %s; unset -f phased_output\n", output_signals);
}
