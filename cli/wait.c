/* What a run waits for. */
#include "cli/wait.h"

#include "cli/field.h"
#include "cli/format.h"
#include "lib/text.h"

#include <math.h>
#include <string.h>

/* Explains Slurm's reasons by how they begin and what they contain; the first row that fits counts.
 * Reasons that are clear, or that later releases bring, are printed as they are. */
static const struct {
    const char *begin, *part, *meaning;
} wait_words[] = {
    {"Resources", "", "no nodes that fit are free"},
    {"Priority", "", "jobs of a higher priority come first"},
    {"None", "", "Slurm has not looked at the job yet"},
    {"BeginTime", "", "its begin time has not come yet"},
    {"Dependency", "", "a job that this job depends on has not ended"},
    {"Reservation", "", "its reservation has not begun"},
    {"ReqNodeNotAvail", "", "nodes that the job asks for are not available"},
    {"Nodes required for job are DOWN", "", "nodes that the job needs are not available"},
    {"PartitionTimeLimit", "", "the job asks for more time than its partition allows"},
    {"PartitionNodeLimit", "", "the job asks for more nodes than its partition allows"},
    {"PartitionDown", "", "its partition starts no jobs at present"},
    {"PartitionInactive", "", "its partition starts no jobs at present"},
    {"JobHeldUser", "", "the job is held in Slurm, by its owner"},
    {"JobHeldAdmin", "", "the job is held in Slurm, by an administrator"},
    {"Assoc", "PerJob", "the job asks for more than the site allows one job"},
    {"QOS", "PerJob", "the job asks for more than the site allows one job"},
    {"Max", "PerJob", "the job asks for more than the site allows one job"},
    {"Assoc", "Minutes", "the time that the site gives its account is used up"},
    {"QOS", "Minutes", "the time that the site gives its QOS is used up"},
    {"Assoc", "", "a limit of the site on its account; the job begins when others have ended"},
    {"QOS", "", "a limit of the site on its QOS; the job begins when others have ended"},
    {"Max", "PerAccount",
     "a limit of the site on its account; the job begins when others have ended"},
};

static void wait_add_word(const char *word, struct text *text)
{
    for (size_t i = 0; i < sizeof wait_words / sizeof *wait_words; i++) {
        if (!text_starts(word, wait_words[i].begin) || !strstr(word, wait_words[i].part))
            continue;
        text_addf(text, "%s (%s)", wait_words[i].meaning, word);
        return;
    }
    text_add(text, word);
}

/* 0: the run does not wait for limits.yaml. */
static void wait_add_turn(long long turn, struct text *text)
{
    if (turn == 1)
        text_add(text, "; this run is next");
    else if (turn > 1)
        text_addf(text, "; %lld other run%s before it", turn - 1, turn == 2 ? " comes" : "s come");
}

bool wait_write(const json_t *run, double now, struct text *text)
{
    double absent_since = field_number(run, "job_absent_since");
    double start_s = field_number(run, "job_start") - now;
    const char *state = field_text(run, "state"), *job_state = field_text(run, "job_state");
    const char *reason = field_text(run, "job_reason");
    long long job = field_integer(run, "job_id");
    char buffer[FORMAT_SIZE];
    size_t size = text->size;
    if (!isnan(absent_since)) {
        text_addf(text, "Slurm has not known job %lld for %s", job,
                  format_duration(fmax(now - absent_since, 0), buffer));
    } else if (!text_equal(state, "ended") && text_equal(job_state, "suspended")) {
        text_addf(text, "job %lld is suspended in Slurm; it goes on when Slurm resumes it", job);
    } else if (text_equal(state, "submitting") && reason[0]) {
        text_addf(text, "not submitted yet: %s", reason);
        wait_add_turn(field_integer(run, "job_turn"), text);
    } else if ((text_equal(state, "pending") || text_equal(state, "starting")) &&
               text_equal(job_state, "pending")) { /* a requeued job already has its next run */
        text_addf(text, "job %lld waits in Slurm%s", job, reason[0] ? ": " : "");
        wait_add_word(reason, text);
        if (start_s > 0)
            text_addf(text, "; Slurm expects its start in %s", format_duration(start_s, buffer));
    }
    return text->size > size;
}

bool wait_write_phase(const json_t *phase, double now, struct text *text)
{
    const char *reason = field_text(phase, "reason");
    if (!wait_write(json_object_get(phase, "run"), now, text))
        return false;
    if (reason[0])
        text_addf(text, "; %s", reason);
    return true;
}
