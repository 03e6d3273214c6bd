/* Files of a run that an earlier phased wrote: protocol_files.txt. If somebody updates phased while
 * jobs run, such files exist, and the other half of these jobs wrote them. */
#include "tests/unit/folder.h"
#include "tests/unit/unit.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/memory.h"
#include "lib/protocol/claim.h"
#include "lib/protocol/daemon_file.h"
#include "lib/protocol/entry.h"
#include "lib/protocol/job_files.h"
#include "lib/protocol/journal_file.h"
#include "lib/protocol/message.h"
#include "lib/protocol/outcome.h"
#include "lib/protocol/report.h"
#include "lib/protocol/run_file.h"
#include "lib/protocol/sampler_line.h"
#include "lib/text.h"
#include "worker/lead/job_folder.h"
#include "worker/protocol/assignment.h"
#include "worker/protocol/phase_claim.h"
#include "worker/protocol/posthumous.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_JOB "phased-28fc8ed2832a2c5b3c343a1326907d6f"
#define TOKEN     "28fc8ed2832a2c5b3c343a1326907d6f"

static char *path_of(const char *name)
{
    static char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name); /* the names are short */
    return path;
}

static void put(const char *name, const char *text, size_t size)
{
    char *parent = file_parent(path_of(name));
    assert_int_equal(file_make_folders(parent, 0700, NULL), 0);
    assert_int_equal(file_replace(path_of(name), text, size, 0600, NULL), 0);
    free(parent);
}

/* A line "==> NAME <==" is before the bytes of each file. */
static int unpack(void **state)
{
    static const char begin[] = "==> ", end[] = " <==\n";
    const char *source = getenv("SRC");
    char *path = text_format("%s/tests/unit/protocol_files.txt", source ? source : "."), *text;
    assert_int_equal(folder_make(state), 0);
    assert_int_equal(file_read(path, 1 << 20, &text, NULL, NULL), 0);
    for (char *name = text, *next; name; name = next) {
        char *bytes = strstr(name, end);
        next = strstr(name + 1, "\n==> ");
        assert_non_null(bytes);
        *bytes = '\0';
        bytes += strlen(end);
        next = next ? next + 1 : NULL;
        put(name + strlen(begin), bytes, next ? (size_t)(next - bytes) : strlen(bytes));
    }
    free(text);
    free(path);
    return 0;
}

static void the_worker_knows_what_to_run(void **state)
{
    struct assignment *assignment;
    struct error err;
    (void)state;
    if (assignment_read(path_of("second/1"), &assignment, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(assignment->file.run, 2);
    assert_int_equal(assignment->file.attempt, 1);
    assert_string_equal(assignment->address, "1/second#1");
    assert_string_equal(assignment->file.job_dir,
                        "/home/ada/.phased/runs/1/phased-119097697829cd128e7d39705fa278f9");
    assert_int_equal(assignment->nodes, 2);
    assert_int_equal(assignment->gpus, 1);
    assert_true(text_starts(assignment->script, "echo \"step=1 loss=2\"\n"));
    assert_non_null(json_object_get(assignment->file.inputs, "first"));
    assignment_free(assignment);
}

/* Whether the JSON is what the file has, to the byte. Takes over the reference. */
static void assert_bytes(json_t *json, const char *name)
{
    char *text = json_dumps(json, JSON_COMPACT), *bytes;
    assert_int_equal(file_read(path_of(name), 1 << 20, &bytes, NULL, NULL), 0);
    bytes[strcspn(bytes, "\n")] = '\0';
    assert_string_equal(text, bytes);
    free(bytes);
    free(text);
    json_decref(json);
}

/* So that the other half may be older. */
static void what_was_read_is_written_with_the_same_bytes(void **state)
{
    struct run_file run;
    struct error err;
    char *run_dir;
    (void)state;
    assert_int_equal(run_file_read(path_of("second/1"), &run, &err), 0);
    json_t *document = run.document;
    run.document = NULL; /* so that all members come from the struct */
    assert_bytes(run_file_to_json(&run), "second/1/run.json");
    json_decref(document);
    struct claim claim = claim_read(path_of("second/lead.1"));
    assert_bytes(claim_to_json(&claim), "second/lead.1");
    claim_fini(&claim);
    claim = claim_read(path_of(FIRST_JOB "/claim"));
    assert_bytes(claim_to_json(&claim), FIRST_JOB "/claim");
    claim_fini(&claim);
    assert_int_equal(current_read(path_of(FIRST_JOB), &run_dir, &err), 0);
    assert_bytes(current_to_json(run_dir), FIRST_JOB "/current.json");
    free(run_dir);
    struct daemon_file daemon;
    assert_int_equal(daemon_file_read(path_of("daemon.json"), &daemon, &err), 0);
    assert_bytes(daemon_file_to_json(&daemon), "daemon.json");
    daemon_file_fini(&daemon);
}

/* What an earlier phased wrote is written as the same text. */
#define ASSERT_SAME(object, text)                                                                  \
    do {                                                                                           \
        json_t *read = json_loads(text, 0, NULL);                                                  \
        struct object message = object##_read(read);                                               \
        json_t *written = object##_to_json(&message);                                              \
        char *again = json_dumps(written, JSON_COMPACT);                                           \
        assert_string_equal(again, text);                                                          \
        free(again);                                                                               \
        json_decref(written);                                                                      \
        json_decref(read);                                                                         \
    } while (0)

static void small_messages_are_written_with_the_same_bytes(void **state)
{
    (void)state;
    ASSERT_SAME(found_failure, "{\"name\":\"cuda_oom\",\"line\":\"out of memory\",\"rank\":3,"
                               "\"time\":\"2026-11-20T12:00:00.000Z\"}");
    ASSERT_SAME(found_failure, "{\"name\":\"sign\",\"line\":\"\",\"rank\":null,\"time\":\"\"}");
    ASSERT_SAME(told_failure, "{\"name\":\"cuda_oom\",\"line\":\"out of memory\",\"rank\":0,"
                              "\"node\":\"n1\",\"advice\":\"less\",\"blame\":\"code\"}");
    ASSERT_SAME(told_failure, "{\"name\":\"sign\",\"line\":\"\",\"rank\":null,\"node\":null,"
                              "\"advice\":\"\",\"blame\":\"none\"}");
    ASSERT_SAME(sampler_line, "{\"pid\":4711}");
    ASSERT_SAME(sampler_line, "{\"devices\":{\"gpus\":[0]}}");
    ASSERT_SAME(sampler_line, "{\"lost\":0,\"why\":\"GPU is lost\"}");
    ASSERT_SAME(sampler_line, "{\"xid\":79,\"gpu\":0}");
    ASSERT_SAME(sampler_line, "{\"absent\":\"no driver\"}");
    ASSERT_SAME(sampler_line, "{\"trouble\":\"nvmlInit: x\"}");
    ASSERT_SAME(gpu_devices, "{\"gpus\":[0,1],\"models\":[\"NVIDIA H200\",null],"
                             "\"uuids\":[null,null],\"memory_mib\":[144384,null]}");
}

static void a_daemon_file_without_an_address_is_refused(void **state)
{
    static const char *const texts[] = {"{}", "[1]", "{\"host\":\"\",\"port\":1}",
                                        "{\"host\":\"n\",\"port\":0}",
                                        "{\"host\":\"n\",\"port\":65536}"};
    struct daemon_file daemon;
    struct error err;
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        put("daemon.json", texts[i], strlen(texts[i]));
        assert_int_equal(daemon_file_read(path_of("daemon.json"), &daemon, &err), -EINVAL);
        assert_true(text_ends(err.message, "daemon.json names no host and port"));
        assert_null(daemon.document);
    }
    assert_int_equal(daemon_file_read(path_of("none"), &daemon, &err), -ENOENT);
}

/* A newer daemon may have written it, and the lead writes it again. */
static void what_is_not_known_stays(void **state)
{
    static const char text[] = "{\"later\":[1],\"run\":\"x\",\"anew\":true}";
    struct run_file run;
    struct error err;
    (void)state;
    put("new/run.json", text, strlen(text));
    assert_int_equal(run_file_read(path_of("new"), &run, &err), 0);
    assert_true(run.run == 0 && run.is_anew && !run.spec);
    assert_int_equal(run_file_check(&run, &err), -EINVAL);
    assert_string_equal(err.message, "`run` must be a number");
    run.is_anew = false;
    json_t *json = run_file_to_json(&run);
    assert_non_null(json_object_get(json, "later"));
    assert_null(json_object_get(json, "anew"));
    assert_int_equal(json_integer_value(json_object_get(json, "run")), 0);
    json_decref(json);
    run.phase = "\xff";
    assert_null(run_file_to_json(&run)); /* it is not UTF-8 */
    run_file_fini(&run);
}

/* The daemon takes submissions of up to 16 MiB. */
static void the_worker_reads_a_large_environment(void **state)
{
    struct assignment *assignment;
    struct error err;
    json_t *json;
    char *value = xcalloc(9 << 20, 1);
    (void)state;
    memset(value, 'x', (9 << 20) - 1);
    assert_int_equal(message_read(&json, &err, "%s", path_of("second/1/run.json")), 0);
    json_object_set_new(json_object_get(json, "environment"), "LARGE", json_string(value));
    assert_int_equal(message_replace(json, &err, "%s", path_of("second/1/run.json")), 0);
    if (assignment_read(path_of("second/1"), &assignment, &err) < 0)
        fail_msg("%s", err.message);
    assignment_free(assignment);
    json_decref(json);
    free(value);
}

static void a_file_that_is_not_json_is_named(void **state)
{
    struct error err;
    json_t *json;
    (void)state;
    assert_int_equal(message_read(&json, &err, "%s/none.json", folder), -ENOENT);
    assert_null(json);
    put("broken.json", "{\n\"a\": 1", 8);
    assert_int_equal(message_read(&json, &err, "%s/broken.json", folder), -EINVAL);
    assert_null(json);
    assert_non_null(strstr(err.message, "broken.json:2:"));
    json = json_pack("{s:f}", "time", 0.1 + 0.2); /* it has 17 digits */
    assert_int_equal(message_create_once(json, &err, "%s/once.json", folder), 0);
    assert_int_equal(message_create_once(json, &err, "%s/once.json", folder), -EEXIST);
    json_decref(json);
    assert_int_equal(message_read(&json, &err, "%s/once.json", folder), 0);
    assert_true(json_number_value(json_object_get(json, "time")) == 0.1 + 0.2);
    json_decref(json);
    assert_int_equal(message_replace(NULL, &err, "%s/once.json", folder), -EILSEQ);
}

static void the_job_knows_its_folder(void **state)
{
    struct phase_life life = {.job_id = 1, .token = TOKEN}, other = {.job_id = 2, .token = TOKEN};
    char *run_dir;
    struct error err;
    (void)state;
    assert_int_equal(job_folder_claim(path_of(FIRST_JOB), &life, &err), 0);
    assert_int_equal(job_folder_claim(path_of(FIRST_JOB), &other, &err), -EBUSY);
    assert_int_equal(job_folder_read_current(path_of(FIRST_JOB), &run_dir, &err), 0);
    assert_string_equal(run_dir, "/home/ada/.phased/runs/1/first/1");
    free(run_dir);
    assert_int_equal(phase_claim_newest(path_of("first/1")), 1);
    assert_false(phase_claim_is_lost(path_of("first/1"), &life, 0));
    assert_true(phase_claim_is_lost(path_of("first/1"), &other, 0));
    assert_int_equal(job_folder_check_run("/elsewhere/phased-119097697829cd128e7d39705fa278f9",
                                          path_of("second/1"), &err),
                     0);
    assert_int_equal(job_folder_check_run("/elsewhere/" FIRST_JOB, path_of("second/1"), &err),
                     -EBUSY);
}

static void an_old_outcome_keeps_its_meaning(void **state)
{
    struct outcome outcome;
    struct error err;
    (void)state;
    assert_int_equal(outcome_read(path_of("second/1"), TOKEN, &outcome, &err), -ESTALE);
    assert_int_equal(outcome_read(path_of("second/1"), NULL, &outcome, &err), 0);
    assert_int_equal(outcome.kind, OUTCOME_FAILED);
    assert_int_equal(outcome.cause, CAUSE_OOM);
    assert_int_equal(outcome.exit_code, 3);
    assert_int_equal(outcome.last_step, 1);
    assert_int_equal(json_integer_value(json_object_get(outcome.finals, "n1")), 3);
    assert_string_equal(json_string_value(json_object_get(outcome.failure, "name")), "cuda_oom");
    json_t *again = outcome_to_json(&outcome), *before;
    assert_int_equal(message_read(&before, &err, "%s", path_of("second/1/outcome.json")), 0);
    assert_true(json_equal(again, before));
    json_decref(before);
    json_decref(again);
    outcome_fini(&outcome);
    assert_false(outcome_is_sealed(path_of("first/1"), &err));
    assert_true(outcome_is_sealed(path_of("second/1"), &err));
    assert_string_equal(err.message,
                        "the daemon has declared this run over: lost, node n2 has failed");
}

static void add_type(void *context, const struct entry *entry)
{
    assert_string_equal(entry_type_name(entry->type), entry->type_name);
    text_addf(context, "%s ", entry->type_name);
}

static void old_journals_keep_their_meaning(void **state)
{
    struct text types = {0};
    struct outcome outcome;
    (void)state;
    char *path = journal_path(path_of("first/1"), "n1");
    journal_visit(path, -1, add_type, &types);
    assert_string_equal(text_string(&types), "ranks metric metric checkpoint exited ");
    text_clear(&types);
    journal_visit(path, ENTRY_METRIC, add_type, &types);
    assert_string_equal(text_string(&types), "metric metric ");
    free(path);
    text_fini(&types);
    outcome_init(&outcome, 1);
    assert_int_equal(posthumous_read(path_of("first/1"), NULL, 1, &outcome), POSTHUMOUS_TOLD);
    assert_int_equal(outcome.kind, OUTCOME_SUCCEEDED);
    assert_int_equal(outcome.last_step, 2);
    outcome_fini(&outcome);
    assert_true(posthumous_has_ended(path_of("first/1")));
}

/* What is written has a value in every member, so a member that is lost in between is seen. */
static void entries_of_every_type_come_back(void **state)
{
    (void)state;
    json_t *list = json_pack("[s]", "n1"), *object = json_pack("{s:i}", "loss", 2);
    for (unsigned type = 0; type < ENTRY_TYPE_COUNT; type++) {
        const struct entry entry = {.type = (enum entry_type)type,
                                    .job_id = 7,
                                    .restarts = 2,
                                    .nodes = list,
                                    .end_time = 3.5,
                                    .hardware = object,
                                    .token = TOKEN,
                                    .ranks = list,
                                    .is_done = true,
                                    .step = 40,
                                    .values = object,
                                    .steps = 5,
                                    .seconds = 1.25,
                                    .verdict = object,
                                    .message = "a message",
                                    .why = "over",
                                    .from = 3,
                                    .level = "quick",
                                    .outcome = "passed",
                                    .reason = "a reason",
                                    .is_observe = true,
                                    .rows = list};
        json_t *written = entry_to_json(&entry);
        const struct entry read = entry_of((enum entry_type)type, written);
        json_t *again = entry_to_json(&read);
        if (!json_equal(written, again))
            fail_msg("%s loses a member", entry_type_name((enum entry_type)type));
        json_decref(written);
        json_decref(again);
    }
    json_decref(list);
    json_decref(object);
}

/* The lead was killed before it reported the end. */
static void the_journals_of_a_dead_lead_give_the_end(void **state)
{
    struct outcome outcome;
    char *text, *path = journal_path(path_of("first/1"), "lead");
    (void)state;
    assert_int_equal(file_read(path, 65536, &text, NULL, NULL), 0);
    put("first/1/journal/lead.jsonl", text, strcspn(text, "\n") + 1);
    outcome_init(&outcome, 1);
    assert_int_equal(posthumous_read(path_of("first/1"), NULL, 1, &outcome), POSTHUMOUS_KILLED);
    assert_int_equal(outcome.kind, OUTCOME_SUCCEEDED);
    assert_int_equal(outcome.job_id, 1);
    assert_int_equal(outcome.last_step, 2);
    assert_int_equal(json_integer_value(json_object_get(outcome.finals, "n1")), 5);
    outcome_fini(&outcome);
    free(text);
    free(path);
}

/* The verbs and the types of entries are in doc/protocol.md. */
static void every_word_is_documented(void **state)
{
    const char *source = getenv("SRC");
    char *path = text_format("%s/doc/protocol.md", source ? source : "."), *text;
    (void)state;
    assert_int_equal(file_read(path, 1 << 20, &text, NULL, NULL), 0);
    for (unsigned i = 0; i < ENTRY_TYPE_COUNT + LEAD_VERB_COUNT; i++) {
        unsigned verb = i - ENTRY_TYPE_COUNT;
        char *word = i < ENTRY_TYPE_COUNT
                         ? text_format("\n| `%s` | ", entry_type_name((enum entry_type)i))
                         : text_format("\"verb\": \"%s\"", lead_verb_name((enum lead_verb)verb));
        if (!strstr(text, word))
            fail_msg("doc/protocol.md lacks %s", word);
        free(word);
    }
    free(text);
    free(path);
}

/* An agent and a lead of different versions may serve one job. */
static void leads_and_agents_say_the_words_that_earlier_ones_said(void **state)
{
    static const char *const commands[] = {
        "start RUN_DIR", "go",      "stop SECONDS", "relay SECONDS", "expect SECONDS",
        "kill",          "examine", "evidence",     "suspect",       "numbered",
        "join",          "finish",  "end"};
    static const char *const reports[] = {
        "ready",     "terminated", "started", "superseded", "gone",   "ended",       "examined",
        "preflight", "guard",      "pace",    "silent",     "failed", "cannot_start"};
    (void)state;
    assert_int_equal(sizeof commands / sizeof commands[0], AGENT_COMMAND_COUNT);
    assert_int_equal(sizeof reports / sizeof reports[0], AGENT_REPORT_COUNT);
    for (int i = 0; i < AGENT_COMMAND_COUNT; i++) {
        const char *name = agent_command_name((enum agent_command)i);
        const char *space = strchr(commands[i], ' ');
        assert_true(text_starts(commands[i], name));
        assert_int_equal(strlen(name), strcspn(commands[i], " "));
        assert_int_equal(agent_command_has_argument((enum agent_command)i), space != NULL);
        assert_int_equal(agent_command_parse(name), i);
    }
    for (int i = 0; i < AGENT_REPORT_COUNT; i++) {
        json_t *report = json_pack("{s:s}", "report", reports[i]);
        assert_string_equal(agent_report_name((enum agent_report)i), reports[i]);
        struct report read;
        assert_true(report_read(report, &read));
        assert_int_equal(read.kind, i);
        json_decref(report);
    }
    assert_int_equal(agent_command_parse("stop 3"), -1);
    json_t *report = json_pack("{s:n}", "report");
    struct report read;
    assert_false(report_read(report, &read));
    json_decref(report);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, unpack, folder_remove)
    const struct CMUnitTest tests[] = {
        TEST(the_worker_knows_what_to_run),
        TEST(what_was_read_is_written_with_the_same_bytes),
        cmocka_unit_test(small_messages_are_written_with_the_same_bytes),
        TEST(a_daemon_file_without_an_address_is_refused),
        TEST(what_is_not_known_stays),
        TEST(the_worker_reads_a_large_environment),
        TEST(a_file_that_is_not_json_is_named),
        TEST(the_job_knows_its_folder),
        TEST(an_old_outcome_keeps_its_meaning),
        TEST(old_journals_keep_their_meaning),
        TEST(the_journals_of_a_dead_lead_give_the_end),
        cmocka_unit_test(entries_of_every_type_come_back),
        cmocka_unit_test(every_word_is_documented),
        cmocka_unit_test(leads_and_agents_say_the_words_that_earlier_ones_said),
    };
    return cmocka_run_group_tests_name("protocol", tests, NULL, NULL);
}
