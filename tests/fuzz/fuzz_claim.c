/* Any bytes as the claim of a phase, as the claim of a job's folder, and as its current.json and
 * the run's run.json. A claim is never replaced, and each refusal says why. */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_folder.h"

#include "lib/error.h"
#include "worker/lead/job_folder.h"
#include "worker/protocol/assignment.h"
#include "worker/protocol/phase_claim.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char fuzz_corpus[] = "claim";

static const struct phase_life life = {.job_id = 17, .token = "aaaa", .restarts = 1};

static void fuzz_remove(const char *name)
{
    char *path = fuzz_path(name);
    (void)unlink(path); /* it may not exist */
    free(path);
}

static void fuzz_take(const char *run_dir, struct phase_passed passed)
{
    const struct assignment assignment = {.known_run = 3,
                                          .file = {.attempt = 2, .run_dir = run_dir}};
    struct phase_holder holder = {0};
    struct error err;
    int result = phase_claim_take(&assignment, &life, passed, &holder, &err);
    assert(phase_claim_newest(run_dir) == (result == 0 ? 2 : 1));
    assert(holder.number == 1 && (result == 0 || err.message[0]));
    assert(result == 0 || result == -EBUSY || result == -EAGAIN || result == -ESTALE);
    if (result == 0) { /* what was written can be read */
        result = phase_claim_of_run(run_dir, &holder, &err);
        assert(result == 0 && holder.number == 2 && holder.life.job_id == life.job_id);
        assert(strcmp(holder.life.token, life.token) == 0);
        assert(holder.life.restarts == life.restarts);
    }
    fuzz_remove("phase/lead.2");
}

static void fuzz_phase(const char *run_dir)
{
    struct phase_holder holder;
    struct error err;
    fuzz_take(run_dir, (struct phase_passed){0});
    fuzz_take(run_dir, (struct phase_passed){.over = 1});
    fuzz_take(run_dir, (struct phase_passed){.over = 1, .left = 1});
    int result = phase_claim_of_run(run_dir, &holder, &err);
    assert(result == 0 || ((result == -ENOENT || result == -EAGAIN) && err.message[0]));
    (void)phase_claim_is_lost(run_dir, &life, 0); /* either answer is fine */
}

static void fuzz_job(const char *job_dir, const char *run_dir)
{
    struct error err;
    char *current;
    int result = job_folder_claim(job_dir, &life, &err);
    assert(result == 0 || err.message[0]);
    result = job_folder_check_run(job_dir, run_dir, &err);
    assert(result == 0 || (result == -EBUSY && err.message[0]));
    result = job_folder_read_current(job_dir, &current, &err);
    assert(result == 0 || err.message[0]);
    if (result == 0)
        free(current);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *run_dir = fuzz_path("phase/2"), *job_dir = fuzz_path("job");
    fuzz_write("phase/lead.1", data, size);
    fuzz_write("phase/2/run.json", data, size);
    fuzz_write("job/claim", data, size);
    fuzz_write("job/current.json", data, size);
    fuzz_phase(run_dir);
    fuzz_job(job_dir, run_dir);
    free(job_dir);
    free(run_dir);
    return 0;
}
