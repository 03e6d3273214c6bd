/* Reads --signal, and writes what sends the signal. */
#include "lib/sbatch/signal.h"

#include "lib/sbatch/script.h"
#include "lib/text.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    SIGNAL_DEFAULT_S = 60,
    SIGNAL_MAX_S = 65535, /* as in sbatch */
    SIGNAL_LEAST_S = 15,  /* phased stops the script 10 s before the limit */
};

static const struct {
    const char *name, *number;
} signals[] = {{"HUP", "1"},   {"INT", "2"},   {"QUIT", "3"},  {"ABRT", "6"},  {"KILL", "9"},
               {"USR1", "10"}, {"USR2", "12"}, {"ALRM", "14"}, {"TERM", "15"}, {"CONT", "18"},
               {"STOP", "19"}, {"TSTP", "20"}, {"TTIN", "21"}, {"TTOU", "22"}, {"URG", "23"}};

/* Returns the signal of a name, with or without SIG, or of a number. NULL: no such signal. */
static const char *signal_named(const char *word, size_t size)
{
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        const char *name = signals[i].name, *number = signals[i].number;
        size_t prefix = strncasecmp(word, "SIG", 3) == 0 ? 3 : 0;
        if (strlen(name) + prefix == size && strncasecmp(word + prefix, name, strlen(name)) == 0)
            return name;
        if (strlen(number) == size && strncmp(word, number, size) == 0)
            return name;
    }
    return NULL;
}

/* Reads [B:|R:|BR:]SIGNAL[@SECONDS]. `ret_reserves` is R. */
static bool signal_parse(const char *value, struct sbatch_signal *signal, bool *ret_reserves)
{
    const char *colon = strchr(value, ':'), *word = colon ? colon + 1 : value;
    unsigned long seconds = SIGNAL_DEFAULT_S;
    *ret_reserves = false;
    for (const char *at = value; colon && at < colon; at++) {
        if (!strchr("BbRr", *at))
            return false;
        signal->to_shell |= toupper((unsigned char)*at) == 'B';
        *ret_reserves |= toupper((unsigned char)*at) == 'R';
    }
    size_t size = strcspn(word, "@");
    if (word[size]) {
        char *end;
        seconds = strtoul(word + size + 1, &end, 10);
        if (!isdigit((unsigned char)word[size + 1]) || *end || seconds > SIGNAL_MAX_S)
            return false;
    }
    signal->seconds = (uint32_t)seconds;
    signal->name = signal_named(word, size);
    return signal->name;
}

void sbatch_signal_read(const struct sbatch_script *script, struct sbatch_signal *ret_signal)
{
    const char *value = sbatch_given(script, "signal")->value;
    bool reserves;
    *ret_signal = (struct sbatch_signal){0};
    if (!value)
        return;
    if (!signal_parse(value, ret_signal, &reserves)) {
        sbatch_refuse(script, "signal",
                      "'%s' is not a signal and seconds from 0 to %d, such as B:USR1@120", value,
                      SIGNAL_MAX_S);
        return;
    }
    if (reserves)
        sbatch_warn(script, "signal", "R is left out: the job does not overlap with a reservation");
    if (ret_signal->seconds < SIGNAL_LEAST_S) {
        sbatch_warn(script, "signal",
                    "sent %d s before the time limit, because phased stops the script 10 s before",
                    SIGNAL_LEAST_S);
        ret_signal->seconds = SIGNAL_LEAST_S;
    }
}

/* The process is not a child of the script, because `wait` would wait for it. The process has no
 * pipe of the script open, so the output can end before the process. The job steps of phased itself
 * do not get the signal. */
void sbatch_signal_write_run(const struct sbatch_signal *signal, struct text *run)
{
    if (!signal->name)
        return;
    text_addf(run,
              "phased_signal() { local end left; while :; do "
              "end=$(SLURM_TIME_FORMAT=standard scontrol show job \"$SLURM_JOB_ID\" | grep -oE ' "
              "EndTime=[0-9T:-]+') && "
              "end=$(date -d \"${end#*=}\" +%%s) || { sleep 30; continue; }; "
              "left=$((end - %u - $(date +%%s))); "
              "[ $left -gt 0 ] || break; sleep $((left > 600 ? 600 : left)); done; ",
              signal->seconds);
    if (signal->to_shell)
        text_addf(run, "kill -%s $$; }\n", signal->name);
    else
        text_addf(run,
                  "squeue -h -s -j \"$SLURM_JOB_ID\" -o '%%i %%j' | "
                  "awk '$1 ~ /[.][0-9]+$/ && $2 != \"phase-worker\" { print $1 }' | "
                  "xargs -r scancel --signal=%s; }\n",
                  signal->name);
    text_add(run, "( phased_signal & ) </dev/null >/dev/null 2>&1\nunset -f phased_signal\n");
}
