/* Who may run a phase: the chain of claims in its folder, and what Slurm says about their
 * owners. */
#include "tests/unit/folder.h"
#include "tests/unit/unit.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/text.h"
#include "worker/lead/inquiry.h"
#include "worker/lead/job_folder.h"
#include "worker/protocol/assignment.h"
#include "worker/protocol/phase_claim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct phase_life life = {.job_id = 17, .token = "aaaa", .restarts = 1};

static int link_errno; /* the error of the file system; 0: it has links */

/* Replaces the function of libc that the claim calls. */
int link(const char *from, const char *to)
{
    errno = link_errno;
    return link_errno ? -1 : (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
}

/* Such a file system does not have this function either. */
int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    (void)from_dir, (void)from, (void)to_dir, (void)to, (void)flags;
    errno = EINVAL;
    return -1;
}

static struct phase_passed passed; /* what the claimant knows about the claims before it */

static int passed_reset(void **state)
{
    passed = (struct phase_passed){0};
    link_errno = 0;
    return folder_make(state);
}

/* Claims the phase for an attempt of `claimant`. `run` is the newest number in its line. */
static int take_in(int64_t run, unsigned attempt, const struct phase_life *claimant,
                   struct phase_holder *ret_holder)
{
    char *run_dir = text_format("%s/%u", folder, attempt);
    struct assignment assignment = {.known_run = run,
                                    .file = {.attempt = attempt, .run_dir = run_dir}};
    struct error err;
    assert_int_equal(file_make_folders(run_dir, 0700, NULL), 0);
    int result = phase_claim_take(&assignment, claimant, passed, ret_holder, &err);
    free(run_dir);
    return result;
}

static int take(unsigned attempt, const struct phase_life *claimant,
                struct phase_holder *ret_holder)
{
    return take_in(attempt + 10, attempt, claimant, ret_holder);
}

static void put(unsigned attempt, const char *name, const char *text)
{
    char *path = text_format("%s/%u/%s", folder, attempt, name);
    char *parent = file_parent(path);
    assert_int_equal(file_make_folders(parent, 0700, NULL), 0);
    assert_int_equal(file_replace(path, text, strlen(text), 0600, NULL), 0);
    free(parent);
    free(path);
}

static void write_outcome(unsigned attempt, const char *token)
{
    char *text = text_format("{\"token\": \"%s\"}", token);
    put(attempt, "outcome.json", text);
    free(text);
}

#define STARTED "{\"seq\": 1, \"type\": \"started\", \"nodes\": [\"n1\", \"n2\"]}\n"
#define RANKS   "{\"seq\": 1, \"type\": \"ranks\"}\n"
#define EXITED  "{\"seq\": 2, \"type\": \"exited\"}\n"

static void end_run_of(unsigned attempt, const char *token)
{
    put(attempt, "journal/lead.jsonl", STARTED);
    put(attempt, "journal/n1.jsonl", RANKS EXITED);
    put(attempt, "journal/n2.jsonl", RANKS EXITED);
    write_outcome(attempt, token);
}

static void end_run(unsigned attempt)
{
    end_run_of(attempt, "");
}

static void only_the_same_start_of_a_job_owns_a_claim(void **state)
{
    static const struct {
        struct phase_life life;
        int result;
    } rows[] = {
        {{.job_id = 17, .token = "aaaa", .restarts = 1}, 0},
        {{.job_id = 17, .token = "bbbb", .restarts = 1}, -EBUSY}, /* the id was used again */
        {{.job_id = 17, .token = "aaaa", .restarts = 2}, -EBUSY},
        {{.job_id = 18, .token = "aaaa", .restarts = 1}, -EBUSY},
    };
    struct phase_holder holder;
    (void)state;
    assert_int_equal(take(1, &life, &holder), 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(take(2, &rows[i].life, &holder), rows[i].result);
        assert_string_equal(holder.life.token, "aaaa");
        assert_true(holder.life.job_id == 17 && holder.life.restarts == 1);
    }
    end_run_of(2, "bbbb"); /* of a lead that seemed to be gone */
    assert_int_equal(take(3, &rows[3].life, &holder), -EBUSY);
    end_run(1);
    end_run(2);
    assert_int_equal(take(3, &rows[3].life, &holder), 0);
}

/* Job 17 got run 11 from the daemon, and has gone on alone with attempts 2 and 3 of the phase. */
static void a_later_run_of_the_daemon_comes_after_runs_made_alone(void **state)
{
    static const struct phase_life other = {.job_id = 18, .token = "bbbb"};
    struct phase_holder holder;
    (void)state;
    assert_int_equal(take_in(11, 1, &life, &holder), 0);
    assert_int_equal(take_in(11, 3, &life, &holder), 0);
    assert_int_equal(take_in(12, 2, &other, &holder), -EBUSY);
    end_run(3);
    assert_int_equal(take_in(12, 2, &other, &holder), 0);
    /* From now on job 17 is too late, with any number of its attempt. */
    assert_int_equal(take_in(11, 1, &life, &holder), -ESTALE);
    assert_int_equal(take_in(11, 4, &life, &holder), -ESTALE);
}

/* A node that Slurm has given up may go on until its agent finds the outcome and stops the
 * ranks. */
static void a_claim_waits_until_the_nodes_of_an_ended_run_have_ended(void **state)
{
    static const struct {
        const char *lead, *n1, *n2;
        int result;
    } rows[] = {
        {"", "", "", -EAGAIN},
        {"", RANKS EXITED, RANKS EXITED, -EAGAIN}, /* the nodes are not known */
        {STARTED, "", "", -EAGAIN},
        {STARTED, RANKS EXITED, RANKS, -EAGAIN},
        {STARTED, RANKS EXITED, EXITED RANKS, -EAGAIN}, /* another start has begun it */
        {STARTED, RANKS EXITED, RANKS EXITED, 0},
    };
    static const struct phase_life other = {.job_id = 18, .token = "bbbb"};
    struct phase_holder holder;
    (void)state;
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct phase_life *last = i % 2 ? &other : &life, *next = i % 2 ? &life : &other;
        passed = (struct phase_passed){0};
        assert_int_equal(take(2 * i + 1, last, &holder), 0);
        assert_int_equal(take(2 * i + 2, next, &holder), -EBUSY);
        put(2 * i + 1, "journal/lead.jsonl", rows[i].lead);
        put(2 * i + 1, "journal/n1.jsonl", rows[i].n1);
        put(2 * i + 1, "journal/n2.jsonl", rows[i].n2);
        if (i % 2)
            passed.over = holder.number; /* Slurm says that it is over */
        else
            write_outcome(2 * i + 1, "");
        assert_int_equal(take(2 * i + 2, next, &holder), rows[i].result);
        if (rows[i].result < 0) {
            passed.left = holder.number;
            assert_int_equal(take(2 * i + 2, next, &holder), 0);
        }
        passed = (struct phase_passed){0};
        end_run(2 * i + 2);
    }
}

/* Nobody can tell whose claim it is, and so nobody can tell whether its owner is over. Only time
 * decides. */
static void an_unreadable_claim_blocks_only_for_a_while(void **state)
{
    static const char *const texts[] = {"", "{\"job_id\":", "{}", "[]", "{\"job_id\": \"17\"}"};
    char *path = text_format("%s/lead.3", folder);
    struct phase_holder holder;
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_int_equal(file_replace(path, texts[i], strlen(texts[i]), 0600, NULL), 0);
        assert_int_equal(take(1, &life, &holder), -EAGAIN);
        assert_true(holder.number == 3);
    }
    passed.left = 3;
    assert_int_equal(take(1, &life, &holder), 0);
    assert_int_equal(phase_claim_newest(path), 4);
    free(path);
}

/* The agents of the owner look for that. */
static void a_claim_is_lost_only_to_a_higher_claim_of_another_start(void **state)
{
    static const struct phase_life other = {.job_id = 18, .token = "bbbb"};
    struct phase_holder holder;
    char *run_dir = text_format("%s/2", folder);
    (void)state;
    assert_int_equal(phase_claim_newest(run_dir), 0);
    assert_int_equal(take(1, &other, &holder), 0);
    end_run(1);
    /* The run itself could not make its claim. */
    assert_int_equal(phase_claim_newest(run_dir), 1);
    assert_false(phase_claim_is_lost(run_dir, &life, 1));
    assert_int_equal(take(2, &life, &holder), 0);
    assert_false(phase_claim_is_lost(run_dir, &life, 1));
    end_run(2);
    assert_int_equal(take(3, &other, &holder), 0);
    assert_true(phase_claim_is_lost(run_dir, &life, 1));
    assert_true(phase_claim_is_lost(run_dir, &life, 2));
    free(run_dir);
}

/* The lead of another life of the job must not begin the run a second time. */
static void the_last_claim_of_a_run_says_that_it_was_begun(void **state)
{
    static const struct phase_life again = {.job_id = 17, .restarts = 2, .token = "aaaa"};
    struct phase_holder holder, found;
    struct error err;
    char *first = text_format("%s/1", folder), *second = text_format("%s/2", folder);
    (void)state;
    assert_int_equal(phase_claim_of_run(first, &found, &err), -ENOENT);
    assert_int_equal(take(1, &life, &holder), 0);
    assert_int_equal(phase_claim_of_run(first, &found, &err), 0);
    assert_true(found.life.job_id == life.job_id && found.life.restarts == life.restarts);
    assert_int_equal(phase_claim_of_run(second, &found, &err), -ENOENT);
    end_run(1);
    assert_int_equal(take(2, &again, &holder), 0);
    assert_int_equal(phase_claim_of_run(first, &found, &err), 0);
    assert_true(found.number == 1 && found.life.restarts == life.restarts);
    assert_int_equal(phase_claim_of_run(second, &found, &err), 0);
    assert_true(found.number == 2 && found.life.restarts == again.restarts);
    free(first);
    free(second);
}

/* Only claims that exist are read. The search would take hours if it tried all numbers. */
static void a_claim_with_a_huge_number_does_not_slow_the_search(void **state)
{
    struct phase_holder holder, found;
    struct error err;
    char *first = text_format("%s/1", folder), *huge = text_format("%s/lead.4294967294", folder);
    (void)state;
    assert_int_equal(take(1, &life, &holder), 0);
    assert_int_equal(file_replace(huge, "{}", 2, 0600, NULL), 0);
    (void)alarm(60); /* ends the test */
    assert_int_equal(phase_claim_of_run(first, &found, &err), 0);
    (void)alarm(0);
    assert_int_equal(found.number, 1);
    free(first);
    free(huge);
}

/* Nobody knows whether such a claim is of the run. */
static void a_claim_that_cannot_be_read_is_told_apart_from_no_claim(void **state)
{
    struct phase_holder holder, found;
    struct error err;
    char *first = text_format("%s/1", folder), *second = text_format("%s/2", folder);
    char *ruined = text_format("%s/lead.2", folder);
    (void)state;
    assert_int_equal(take(1, &life, &holder), 0);
    assert_int_equal(file_replace(ruined, "{", 1, 0600, NULL), 0);
    assert_int_equal(phase_claim_of_run(second, &found, &err), -EAGAIN);
    assert_int_equal(found.number, 2);
    assert_non_null(strstr(err.message, "/lead.2 cannot be read"));
    assert_int_equal(phase_claim_of_run(first, &found, &err), 0);
    assert_int_equal(found.number, 1);
    free(ruined);
    free(first);
    free(second);
}

static bool is_there(unsigned number)
{
    char *path = text_format("%s/lead.%u", folder, number);
    bool is_so = access(path, F_OK) == 0;
    free(path);
    return is_so;
}

static void claims_work_on_a_file_system_without_links(void **state)
{
    static const int reasons[] = {EPERM, EOPNOTSUPP, ENOSYS};
    static const struct phase_life other = {.job_id = 18, .token = "bbbb"};
    struct phase_holder holder;
    (void)state;
    for (unsigned i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
        link_errno = reasons[i];
        assert_int_equal(take(i + 1, &life, &holder), 0);
        assert_true(is_there(i + 1));
    }
    assert_int_equal(take(9, &other, &holder), -EBUSY);
    assert_string_equal(holder.life.token, "aaaa");
}

/* A lead that is slow to claim the next number must find it used, whatever has come since. */
static void the_number_of_a_claim_is_never_used_again(void **state)
{
    struct phase_holder holder;
    (void)state;
    for (unsigned attempt = 1; attempt <= 3; attempt++) {
        assert_int_equal(take(attempt, &life, &holder), 0);
        for (unsigned number = 1; number <= attempt; number++)
            assert_true(is_there(number));
        assert_false(is_there(attempt + 1));
        end_run(attempt);
    }
}

static void slurm_says_whether_a_start_of_a_job_is_over(void **state)
{
#define OUTPUT " StdOut=/home/runs/7/phased-aaaa/job.log"
    static const struct {
        const char *state, *text;
        unsigned restarts;
        bool is_unknown, is_over;
    } rows[] = {
        {"", "", 0, false, false}, /* no answer */
        {"", "", 0, true, true},
        {"RUNNING", " Restarts=1" OUTPUT, 1, false, false},
        /* The same home has another name on that node. */
        {"RUNNING", " Restarts=1 StdOut=/alias/7/phased-aaaa/job.log", 1, false, false},
        {"RUNNING", " Restarts=1 StdOut=/home/runs/7/phased-bbbb/job.log", 1, false, true},
        {"RUNNING", " Restarts=1", 1, false, false}, /* nothing says whose job it is */
        {"PENDING", " Restarts=1" OUTPUT, 1, false, false},
        {"RUNNING", " Restarts=2" OUTPUT, 2, false, true},
        /* The job was requeued, and its start before is being ended. */
        {"COMPLETING", " Restarts=2" OUTPUT, 2, false, false},
        {"COMPLETED", " Restarts=1" OUTPUT, 1, false, true},
        {"NODE_FAIL", " Restarts=1" OUTPUT, 1, false, true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *text = text_format("JobId=4711 JobState=%s%s", rows[i].state, rows[i].text);
        struct inquiry_answer answer = inquiry_read(text);
        answer.is_unknown = rows[i].is_unknown;
        assert_int_equal(answer.restarts, rows[i].restarts);
        assert_int_equal(inquiry_says_over(&answer, &life), rows[i].is_over);
        free(text);
    }
}

static void the_wait_for_a_job_that_is_ending_is_bounded(void **state)
{
    static const struct {
        const char *state;
        int64_t waited_s;
        bool is_worth_it;
    } rows[] = {
        {"COMPLETING", 0, true},     {"COMPLETING", 600, true}, {"COMPLETING", 900, false},
        {"COMPLETING", 3600, false}, {"RUNNING", 0, false},     {"", 0, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *text = text_format("JobId=4711 JobState=%s Restarts=0", rows[i].state);
        struct inquiry_answer answer = inquiry_read(text);
        assert_int_equal(inquiry_says_ending(&answer, rows[i].waited_s * 1000),
                         rows[i].is_worth_it);
        free(text);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, passed_reset, folder_remove)

static void one_job_claims_a_folder(void **state)
{
    static const struct {
        struct phase_life life;
        int result;
    } rows[] = {
        {{.job_id = 4711, .token = "aaaa", .restarts = 1}, 0},
        {{.job_id = 4711, .token = "aaaa", .restarts = 2}, 0}, /* after a requeue */
        {{.job_id = 4711, .token = "aaaa", .restarts = 0}, -EBUSY},
        {{.job_id = 4711, .token = "bbbb", .restarts = 1}, -EBUSY}, /* the id was used again */
        {{.job_id = 4712, .token = "aaaa", .restarts = 1}, -EBUSY},
    };
    char *claim = text_format("%s/claim", folder);
    struct error err;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(job_folder_claim(folder, &rows[i].life, &err), rows[i].result);
        if (rows[i].result < 0)
            assert_true(text_starts(err.message, "job 4711"));
    }
    assert_int_equal(file_replace(claim, "4711\n", 5, 0600, NULL), 0); /* of an older worker */
    assert_int_equal(job_folder_claim(folder, &rows[3].life, &err), 0);
    assert_int_equal(job_folder_claim(folder, &rows[4].life, &err), -EBUSY);
    assert_int_equal(job_folder_claim("/nowhere", &rows[0].life, &err), -ENOENT);
    free(claim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_job_claims_a_folder),
        TEST(only_the_same_start_of_a_job_owns_a_claim),
        TEST(a_later_run_of_the_daemon_comes_after_runs_made_alone),
        TEST(a_claim_waits_until_the_nodes_of_an_ended_run_have_ended),
        TEST(an_unreadable_claim_blocks_only_for_a_while),
        TEST(a_claim_is_lost_only_to_a_higher_claim_of_another_start),
        TEST(the_last_claim_of_a_run_says_that_it_was_begun),
        TEST(a_claim_that_cannot_be_read_is_told_apart_from_no_claim),
        TEST(a_claim_with_a_huge_number_does_not_slow_the_search),
        TEST(claims_work_on_a_file_system_without_links),
        TEST(the_number_of_a_claim_is_never_used_again),
        TEST(the_wait_for_a_job_that_is_ending_is_bounded),
        TEST(slurm_says_whether_a_start_of_a_job_is_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
