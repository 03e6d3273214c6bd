/* The smaller parts of the worker: lines, logs, tails, reports, environments. */
#include "tests/unit/folder.h"
#include "tests/unit/unit.h"

#include "lib/file.h"
#include "lib/protocol/outcome.h"
#include "lib/protocol/report.h"
#include "lib/text.h"
#include "worker/lines.h"
#include "worker/node/ranklog.h"
#include "worker/node/tail.h"
#include "worker/process/environment.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static void note_line(void *context, const char *line, size_t size)
{
    assert_int_equal(strlen(line), size);
    text_addf(context, "<%s>", line);
}

static void lines_are_the_same_however_the_bytes_come(void **state)
{
    (void)state;
    static const char stream[] = "one\n\nthree is too long for this\nfour";
    for (size_t part = 1; part < sizeof(stream); part++) {
        struct lines lines = {.size_max = 8};
        struct text found = {0};
        for (size_t at = 0; at < sizeof(stream) - 1; at += part) {
            size_t rest = sizeof(stream) - 1 - at;
            lines_feed(&lines, stream + at, part < rest ? part : rest, note_line, &found);
        }
        lines_end(&lines, note_line, &found);
        assert_string_equal(text_string(&found), "<one><><three is><four>");
        lines_fini(&lines);
        text_fini(&found);
    }
}

/* Returns the log of rank 0 without the times. */
static char *log_text(const char *name)
{
    char *path = text_format("%s/%s", folder, name), *data, *line, *rest;
    struct text text = {0};
    assert_int_equal(file_read(path, 1 << 20, &data, NULL, NULL), 0);
    for (line = data; (rest = strchr(line, '\n')); line = rest + 1) {
        const char *blank = memchr(line, ' ', (size_t)(rest - line));
        assert_non_null(blank);
        assert_int_equal(blank - line, strlen("2026-11-20T12:00:00.000Z"));
        text_addf(&text, "%.*s|", (int)(rest - blank - 1), blank + 1);
    }
    assert_string_equal(line, "");
    free(data);
    free(path);
    return text_steal(&text);
}

static void a_log_has_a_line_for_each_line_with_the_time_before_it(void **state)
{
    (void)state;
    static const struct {
        const char *printed, *logged;
    } rows[] = {
        {"a\nb\n", "a|b|"},
        {"a\n\nb", "a||b|"},
        {"dos\r\nunix\n", "dos|unix|"},
        /* The first state of a bar shows life, and the last one how it ended. */
        {"1%\r2%\r3%\rdone\n", "1%|done|"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (int by_byte = 0; by_byte < 2; by_byte++) {
            struct ranklog *ranklog = ranklog_open(folder, 0, 0);
            size_t size = strlen(rows[i].printed);
            for (size_t at = 0; by_byte && at < size; at++)
                ranklog_feed(ranklog, rows[i].printed + at, 1);
            if (!by_byte)
                ranklog_feed(ranklog, rows[i].printed, size);
            assert_int_equal(ranklog_lost(ranklog, NULL), 0);
            ranklog_close(ranklog);
            char *text = log_text("rank-0.log");
            assert_string_equal(text, rows[i].logged);
            free(text);
            folder_remove(state);
            folder_make(state);
        }
    }
}

static void a_log_that_has_ended_has_its_last_line_and_may_go_on(void **state)
{
    (void)state;
    struct ranklog *ranklog = ranklog_open(folder, 0, 0);
    ranklog_feed(ranklog, "a\nlast words", strlen("a\nlast words"));
    for (int times = 0; times < 2; times++) {
        ranklog_end(ranklog);
        char *text = log_text("rank-0.log");
        assert_string_equal(text, "a|last words|");
        free(text);
    }
    ranklog_feed(ranklog, "more", strlen("more"));
    ranklog_close(ranklog);
    char *text = log_text("rank-0.log");
    assert_string_equal(text, "a|last words|more|");
    free(text);
}

static void the_last_line_has_no_escape_sequences(void **state)
{
    (void)state;
    static const char printed[] =
        "\033]0;python train.py\a\033[1mepoch 1\033(B\033[m\tdone \033[K\n\033[31m\n";
    struct ranklog *ranklog = ranklog_open(folder, 0, 0);
    ranklog_feed(ranklog, printed, strlen(printed));
    char *last = ranklog_last_line(ranklog);
    assert_string_equal(last, "epoch 1 done");
    free(last);
    ranklog_close(ranklog);
}

static void a_log_keeps_its_beginning_and_its_newest_part(void **state)
{
    (void)state;
    struct ranklog *ranklog = ranklog_open(folder, 0, 400);
    for (int i = 0; i < 100; i++) {
        char *line = text_format("line %d\n", i);
        ranklog_feed(ranklog, line, strlen(line));
        free(line);
    }
    ranklog_close(ranklog);
    static const char *const names[] = {"rank-0.first.log", "rank-0.previous.log", "rank-0.log"};
    static const char *const begins[] = {"line 0|", "line ", "line "};
    char *texts[3];
    for (size_t i = 0; i < 3; i++) {
        texts[i] = log_text(names[i]);
        assert_true(text_starts(texts[i], begins[i]));
        assert_true(strlen(texts[i]) < 400);
    }
    assert_true(text_ends(texts[2], "line 99|"));
    assert_int_equal(strtol(strrchr(texts[1], ' '), NULL, 10) + 1, strtol(texts[2] + 5, NULL, 10));
    for (size_t i = 0; i < 3; i++)
        free(texts[i]);
}

static void a_log_that_cannot_be_written_is_counted(void **state)
{
    (void)state;
    struct ranklog *ranklog = ranklog_open("/nowhere", 0, 0);
    ranklog_feed(ranklog, "a\nb\n", 4);
    assert_int_equal(ranklog_lost(ranklog, NULL), 2);
    ranklog_close(ranklog);
}

/* A limit on the size of files acts like a full disk. */
static void limit_file_size(rlim_t size)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = size;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void a_full_disk_cuts_a_line_and_the_next_one_begins_anew(void **state)
{
    (void)state;
    int reason;
    (void)signal(SIGXFSZ, SIG_IGN);
    struct ranklog *ranklog = ranklog_open(folder, 0, 0);
    limit_file_size(40); /* the time has 25 characters */
    ranklog_feed(ranklog, "whole\ncut short\nlost\n", strlen("whole\ncut short\nlost\n"));
    limit_file_size(RLIM_INFINITY);
    assert_int_equal(ranklog_lost(ranklog, &reason), 2);
    assert_int_equal(reason, EFBIG);
    ranklog_feed(ranklog, "next\n", strlen("next\n"));
    assert_int_equal(ranklog_lost(ranklog, NULL), 2);
    ranklog_close(ranklog);
    char *path = text_format("%s/rank-0.log", folder), *data;
    assert_int_equal(file_read(path, 1 << 20, &data, NULL, NULL), 0);
    const char *second = strchr(data, '\n') + 1, *third = strchr(second, '\n');
    assert_true(text_starts(data + 25, "whole\n"));
    assert_non_null(third);
    assert_int_equal(third - data, 40);
    assert_string_equal(third + 1 + 25, "next\n");
    free(data);
    free(path);
}

static void an_opened_log_ends_a_line_that_was_cut(void **state)
{
    (void)state;
    static const char cut[] = "2026-11-20T12:00:00.000Z cut";
    char *path = text_format("%s/rank-0.log", folder);
    assert_int_equal(file_replace(path, cut, strlen(cut), 0600, NULL), 0);
    struct ranklog *ranklog = ranklog_open(folder, 0, 0);
    ranklog_feed(ranklog, "next\n", strlen("next\n"));
    ranklog_close(ranklog);
    char *text = log_text("rank-0.log");
    assert_string_equal(text, "cut|next|");
    free(text);
    free(path);
}

/* As on NFS, where close() may be the first to say that the disk is full. A descriptor that is not
 * open stands for this. */
static void a_log_that_cannot_be_closed_is_counted(void **state)
{
    (void)state;
    int reason, next = dup(0);
    assert_true(next >= 0 && close(next) == 0);
    struct ranklog *ranklog = ranklog_open(folder, 0, 0);
    ranklog_feed(ranklog, "a\n", 2);
    assert_int_equal(close(next), 0);
    ranklog_end(ranklog);
    assert_int_equal(ranklog_lost(ranklog, &reason), 1);
    assert_int_equal(reason, EBADF);
    ranklog_close(ranklog);
}

static void write_file(const char *path, int flags, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | flags, 0600);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void note_data(void *context, const char *data, size_t size)
{
    text_add_bytes(context, data, size);
}

static void assert_tail(struct tail *tail, const char *wanted)
{
    struct text found = {0};
    tail_look(tail, note_data, &found);
    assert_string_equal(text_string(&found), wanted);
    text_fini(&found);
}

static void a_tail_follows_a_file_that_appears_grows_is_cut_or_replaced(void **state)
{
    (void)state;
    struct tail tail;
    char *path = text_format("%s/file", folder), *other = text_format("%s/other", folder);
    tail_init(&tail, path);
    assert_tail(&tail, "");
    tail_refresh(&tail); /* there is no file */
    write_file(path, 0, "one");
    assert_tail(&tail, "one");
    assert_tail(&tail, "");
    write_file(path, O_APPEND, "two");
    tail_refresh(&tail);
    assert_tail(&tail, "two");
    write_file(path, O_TRUNC, "3");
    assert_tail(&tail, "3");
    write_file(path, O_APPEND, "4");
    write_file(other, 0, "five");
    assert_int_equal(rename(other, path), 0);
    tail_refresh(&tail); /* the rest of the old file is not lost */
    assert_tail(&tail, "4five");
    tail_fini(&tail);
    tail_init(&tail, path);
    write_file(path, O_APPEND, "six");
    assert_tail(&tail, "six");
    tail_fini(&tail);
    free(path);
    free(other);
}

static void a_report_fits_into_what_srun_passes_on_in_one_piece(void **state)
{
    (void)state;
    char *text = malloc(5000);
    memset(text, 'x', 4998);
    memcpy(text + 119, "\xc3\xa4", 2); /* a letter of two bytes at the cut */
    text[4998] = '\0';
    json_t *verdict = json_pack("{s:s, s:s, s:i}", "reason", text, "advice", text, "value", 7);
    char *line =
        report_to_line(&(struct report){.kind = REPORT_GUARD, .message = text, .verdict = verdict});
    json_decref(verdict);
    assert_true(strlen(line) <= REPORT_SIZE_MAX);
    assert_true(text_ends(line, "}\n"));
    json_t *read = json_loads(line, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(read, "report")), "guard");
    assert_int_equal(json_string_length(json_object_get(read, "message")), 119 + 3);
    json_decref(read);
    free(line);
    free(text);
}

/* JSON writes a quote with two bytes, and a control character with six. */
static void a_report_fits_with_the_backslashes_of_its_texts(void **state)
{
    static const char letters[] = {'"', '\\', '\x1b'};
    (void)state;
    for (size_t i = 0; i < sizeof letters; i++) {
        char text[201] = {0};
        memset(text, letters[i], sizeof text - 1);
        const struct report report = {
            .kind = REPORT_FAILED,
            .failed = json_pack("{s:s}", "line", text),
            .failure = json_pack("{s:s, s:s}", "line", text, "advice", text),
            .node = text,
        };
        char *line = report_to_line(&report);
        json_decref(report.failed);
        json_decref(report.failure);
        assert_true(strlen(line) <= REPORT_SIZE_MAX);
        json_t *read = json_loads(line, 0, NULL);
        assert_string_equal(json_string_value(json_object_get(read, "report")), "failed");
        json_decref(read);
        free(line);
    }
}

static void only_phased_variables_are_expanded(void **state)
{
    (void)state;
    static const struct {
        const char *text, *expanded;
    } rows[] = {
        {"$PHASED_OUT/x", "/out/x"},
        {"${PHASED_OUT}x", "/outx"},
        {"$PHASED_OUTx", "$PHASED_OUTx"},
        {"$HOME", "$HOME"},
        {"$PHASED_NOT", "$PHASED_NOT"},
        {"${PHASED_OUT", "${PHASED_OUT"},
        {"a$", "a$"},
        {"$$PHASED_OUT", "$/out"},
        {"${}", "${}"},
        {"", ""},
    };
    struct environment environment = {0};
    environment_set(&environment, "HOME", "/home");
    environment_set(&environment, "PHASED_OUT", "/elsewhere");
    environment_set(&environment, "PHASED_OUT", "/out");
    assert_int_equal(environment.count, 2);
    assert_string_equal(environment_get(&environment, "PHASED_OUT"), "/out");
    assert_null(environment_get(&environment, "PHASED"));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct text text = {0};
        environment_expand(&environment, rows[i].text, &text);
        assert_string_equal(text_string(&text), rows[i].expanded);
        text_fini(&text);
    }
    environment_fini(&environment);
}

static void wildcards_are_escaped_in_values_only(void **state)
{
    static const struct {
        const char *text, *path, *pattern;
    } rows[] = {
        {"$PHASED_OUT/[ab]*", "/out[1]*?\\/[ab]*", "/out\\[1]\\*\\?\\\\/[ab]*"},
        {"ck_*", "/w[2]/out[1]*?\\/ck_*", "/w\\[2]/out\\[1]\\*\\?\\\\/ck_*"},
        {"/a[1]/b\\*", "/a[1]/b\\*", "/a[1]/b\\*"},
    };
    (void)state;
    struct environment environment = {0};
    environment_set(&environment, "PHASED_OUT", "/out[1]*?\\");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        static const char workdir[] = "/w[2]$PHASED_OUT";
        char *path = environment_path(&environment, rows[i].text, workdir);
        char *pattern = environment_pattern(&environment, rows[i].text, workdir);
        assert_string_equal(path, rows[i].path);
        assert_string_equal(pattern, rows[i].pattern);
        free(path);
        free(pattern);
    }
    environment_fini(&environment);
}

static void an_outcome_can_be_written_with_any_message(void **state)
{
    (void)state;
    struct outcome outcome;
    outcome_init(&outcome, 12);
    outcome_set_message(&outcome, "srun said: \xff\xfe");
    json_t *json = outcome_to_json(&outcome);
    assert_string_equal(json_string_value(json_object_get(json, "message")), "srun said: ??");
    json_decref(json);
    outcome_fini(&outcome);
}

static void srun_says_which_node_was_lost(void **state)
{
    (void)state;
    static const struct {
        const char *complaint, *node;
    } rows[] = {
        {"n2: task 1: Aborted", "n2"},
        {"n2: task 1: Killed", ""}, /* by a person, or because of its memory: the node is fine */
        {"gpu-01.site: task 0: Exited with exit code 1", "gpu-01.site"},
        {"Node failure on n3", "n3"},
        {"Task launch for StepId=7.0 failed on node n4: Communication connection failure", "n4"},
        {"n[1-2]: tasks 0-1: Aborted", ""},
        {"Node failure on n[1-2]", ""},
        {"Unable to create step for job 7: Invalid generic resource", ""},
        {"a b: task 0: Aborted", ""},
        {": task 0: Aborted", ""},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct outcome outcome;
        outcome_init(&outcome, 12);
        outcome_blame(&outcome, rows[i].complaint);
        assert_string_equal(outcome.node, rows[i].node);
        json_t *json = outcome_to_json(&outcome), *node = json_object_get(json, "node");
        if (rows[i].node[0])
            assert_string_equal(json_string_value(node), rows[i].node);
        else
            assert_true(json_is_null(node));
        json_decref(json);
        outcome_fini(&outcome);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_make, folder_remove)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_the_same_however_the_bytes_come),
        TEST(a_log_has_a_line_for_each_line_with_the_time_before_it),
        TEST(a_log_that_has_ended_has_its_last_line_and_may_go_on),
        TEST(the_last_line_has_no_escape_sequences),
        TEST(a_log_keeps_its_beginning_and_its_newest_part),
        cmocka_unit_test(a_log_that_cannot_be_written_is_counted),
        TEST(a_full_disk_cuts_a_line_and_the_next_one_begins_anew),
        TEST(an_opened_log_ends_a_line_that_was_cut),
        TEST(a_log_that_cannot_be_closed_is_counted),
        TEST(a_tail_follows_a_file_that_appears_grows_is_cut_or_replaced),
        cmocka_unit_test(a_report_fits_into_what_srun_passes_on_in_one_piece),
        cmocka_unit_test(a_report_fits_with_the_backslashes_of_its_texts),
        cmocka_unit_test(only_phased_variables_are_expanded),
        cmocka_unit_test(srun_says_which_node_was_lost),
        cmocka_unit_test(wildcards_are_escaped_in_values_only),
        cmocka_unit_test(an_outcome_can_be_written_with_any_message),
    };
    return cmocka_run_group_tests_name("worker", tests, NULL, NULL);
}
