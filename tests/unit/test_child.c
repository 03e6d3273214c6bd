/* Children of the worker: real programs in a real loop. */
#include "tests/unit/unit.h"

#include "lib/error.h"
#include "lib/text.h"
#include "worker/health/evidence.h"
#include "worker/node/crew.h"
#include "worker/node/rank_environment.h"
#include "worker/process/child.h"
#include "worker/process/environment.h"
#include "worker/process/processes.h"
#include "worker/protocol/assignment.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_MS = 60000 };

/* What the test has heard of one child. */
struct heard {
    struct child *child;
    struct text lines, text; /* each line with a '|' behind it */
    struct child_end end;
    unsigned ends;
    bool closes_at_line;
};

static void heard_line(void *context, const char *line, size_t size)
{
    struct heard *heard = context;
    text_add_bytes(&heard->lines, line, size);
    text_add(&heard->lines, "|");
    if (heard->closes_at_line)
        child_close(heard->child);
}

static void heard_end(void *context, const struct child_end *end)
{
    struct heard *heard = context;
    heard->ends++;
    heard->end = *end;
    text_add(&heard->text, text_string(child_text(heard->child)));
    child_close(heard->child);
}

static void heard_fini(struct heard *heard)
{
    text_fini(&heard->lines);
    text_fini(&heard->text);
}

/* Takes the ends of all children, as an agent does, until it has those that the test waits for. */
static void reap_done(uv_timer_t *timer)
{
    struct heard *heard = timer->data;
    int status;
    pid_t pid = processes_reap(&status, NULL);
    if (pid > 0 && pid == child_pid(heard->child))
        child_reaped(heard->child, status);
    if (heard->ends)
        uv_close((uv_handle_t *)timer, NULL);
}

/* Runs `script` until the loop has nothing left to do. */
static void run_script(struct child_options options, const char *script, struct heard *heard)
{
    char *const arguments[] = {"sh", "-c", (char *)script, NULL};
    uv_loop_t loop;
    uv_timer_t reaper;
    uv_loop_init(&loop);
    options.loop = &loop;
    options.program = "/bin/sh";
    options.arguments = arguments;
    options.ended = heard_end;
    options.context = heard;
    assert_int_equal(child_start(&options, &heard->child, NULL), 0);
    if (options.kind == CHILD_OF_AGENT) {
        uv_timer_init(&loop, &reaper);
        reaper.data = heard;
        uv_timer_start(&reaper, reap_done, 0, 1);
    }
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
}

static void the_end_is_reported_once_after_all_output_is_read(void **state)
{
    static const struct {
        enum child_kind kind;
        const char *script;
        int code, signal;
    } rows[] = {
        {CHILD_OF_LOOP, "echo one; echo two; exit 3", 3, 0},
        {CHILD_OF_LOOP, "echo one; echo two; kill -9 $$", 0, SIGKILL},
        {CHILD_OF_AGENT, "echo one; echo two; exit 3", 3, 0},
        {CHILD_OF_AGENT, "echo one; echo two; kill -9 $$", 0, SIGKILL},
        {CHILD_OF_NOBODY, "echo one; echo two; exit 3", -1, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct heard heard = {0};
        const struct child_options options = {
            .kind = rows[i].kind,
            .out = {.output = CHILD_LINES, .size_max = 100, .found = heard_line},
            .deadline_ms = PATIENCE_MS,
        };
        run_script(options, rows[i].script, &heard);
        assert_string_equal(text_string(&heard.lines), "one|two|");
        assert_int_equal(heard.ends, 1);
        assert_int_equal(heard.end.code, rows[i].code);
        assert_int_equal(heard.end.signal, rows[i].signal);
        assert_false(heard.end.is_late);
        heard_fini(&heard);
    }
}

static void a_line_that_is_too_long_is_dropped(void **state)
{
    struct heard heard = {0};
    const struct child_options lines = {
        .out = {.output = CHILD_LINES, .size_max = 4, .found = heard_line},
        .deadline_ms = PATIENCE_MS};
    const struct child_options text = {.err = {.output = CHILD_TEXT, .size_max = 4},
                                       .deadline_ms = PATIENCE_MS};
    (void)state;
    run_script(lines, "echo 123456; echo 12; printf 654321", &heard);
    assert_string_equal(text_string(&heard.lines), "1234|12|6543|");
    run_script(text, "echo 123456 >&2; echo nobody reads this; echo 78 >&2", &heard);
    assert_string_equal(text_string(&heard.text), "1234");
    heard_fini(&heard);
}

static void both_outputs_may_share_a_pipe(void **state)
{
    struct heard heard = {0};
    const struct child_options options = {.out = {.output = CHILD_TEXT, .size_max = 100},
                                          .err = {CHILD_JOINS},
                                          .deadline_ms = PATIENCE_MS};
    (void)state;
    run_script(options, "echo out; echo err >&2; cat", &heard); /* standard input is empty */
    assert_string_equal(text_string(&heard.text), "out\nerr\n");
    heard_fini(&heard);
}

static void a_child_reads_what_is_sent(void **state)
{
    char *const arguments[] = {"cat", NULL};
    struct heard heard = {.closes_at_line = true};
    uv_loop_t loop;
    (void)state;
    uv_loop_init(&loop);
    const struct child_options options = {
        .loop = &loop,
        .program = "cat",
        .arguments = arguments,
        .has_input = true,
        .out = {.output = CHILD_LINES, .size_max = 100, .found = heard_line},
        .ended = heard_end,
        .context = &heard,
    };
    assert_int_equal(child_start(&options, &heard.child, NULL), 0);
    child_send(heard.child, text_format("hello\nthere\n"));
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    assert_true(waitpid(-1, NULL, 0) > 0); /* its input has ended, and nobody else waits for it */
    /* The callback of the first line has closed the child. */
    assert_string_equal(text_string(&heard.lines), "hello|");
    assert_int_equal(heard.ends, 0);
    heard_fini(&heard);
}

static void a_child_of_the_loop_is_killed_at_its_deadline(void **state)
{
    struct heard heard = {0};
    const struct child_options options = {.out = {.output = CHILD_TEXT, .size_max = 100},
                                          .deadline_ms = 100};
    (void)state;
    run_script(options, "echo $$; exec sleep 1000", &heard);
    assert_true(heard.end.is_late);
    assert_int_equal(heard.end.code, -1);
    int status;
    pid_t pid = waitpid(-1, &status, 0); /* nobody else waits for it */
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    if (heard.text.size) /* the child came so far */
        assert_int_equal(pid, strtol(text_string(&heard.text), NULL, 10));
    heard_fini(&heard);
}

/* As libcurl makes its sockets. */
static void a_child_of_the_agent_inherits_only_its_standard_streams(void **state)
{
    int pair[2];
    struct heard heard = {0};
    const struct child_options options = {
        .kind = CHILD_OF_AGENT,
        .out = {.output = CHILD_LINES, .found = heard_line, .size_max = 100}};
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    run_script(options, "exec ls /proc/self/fd", &heard);
    assert_string_equal(text_string(&heard.lines), "0|1|2|3|"); /* 3: the folder itself */
    close(pair[0]);
    close(pair[1]);
    heard_fini(&heard);
}

static void a_child_that_cannot_be_started_is_reported(void **state)
{
    static const struct {
        enum child_kind kind;
        const char *program, *workdir, *message, *where;
    } rows[] = {
        {CHILD_OF_LOOP, "/no/program", NULL, "cannot start /no/program: no such file or directory",
         ""},
        {CHILD_OF_AGENT, "/no/program", NULL,
         "could not start /no/program: No such file or directory", ""},
        {CHILD_OF_AGENT, "/bin/true", "/no/folder",
         "cannot enter /no/folder: No such file or directory", "workdir"},
        {CHILD_OF_NOBODY, "/no/program", NULL,
         "could not start /no/program: No such file or directory", ""},
    };
    char *const arguments[] = {"program", NULL};
    uv_loop_t loop;
    (void)state;
    uv_loop_init(&loop);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct error err = {0};
        struct heard heard = {0};
        const struct child_options options = {
            .loop = &loop,
            .kind = rows[i].kind,
            .program = rows[i].program,
            .workdir = rows[i].workdir,
            .arguments = arguments,
            .ended = heard_end,
            .context = &heard,
        };
        assert_int_equal(child_start(&options, &heard.child, &err), -ENOENT);
        assert_string_equal(err.message, rows[i].message);
        assert_string_equal(err.where, rows[i].where);
        uv_run(&loop, UV_RUN_DEFAULT);
        assert_int_equal(heard.ends, 0);
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no process is left */
        /* Otherwise it counts as a child that has ended, later. */
        heard.child = child_try(&options);
        assert_int_equal(heard.ends, 0);
        uv_run(&loop, UV_RUN_DEFAULT);
        assert_int_equal(heard.ends, 1);
        assert_int_equal(heard.end.code, -1);
        heard_fini(&heard);
    }
    assert_int_equal(uv_loop_close(&loop), 0);
}

static void the_kind_of_a_child_decides_its_parent_and_session(void **state)
{
    static const struct {
        enum child_kind kind;
        bool is_ours, has_session;
    } rows[] = {
        {CHILD_OF_LOOP, true, false},
        {CHILD_OF_AGENT, true, true},
        {CHILD_OF_NOBODY, false, false},
    };
    (void)state;
    assert_int_equal(processes_adopt(NULL), 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct heard heard = {0};
        const struct child_options options = {
            .kind = rows[i].kind,
            .out = {.output = CHILD_TEXT, .size_max = 100},
            .deadline_ms = PATIENCE_MS,
        };
        run_script(options, "cut -d' ' -f4,6 /proc/$$/stat; echo $$", &heard);
        int parent, session, pid;
        assert_int_equal(sscanf(text_string(&heard.text), "%d %d\n%d", &parent, &session, &pid), 3);
        assert_int_equal(parent == getpid(), rows[i].is_ours);
        assert_int_equal(session == pid, rows[i].has_session);
        heard_fini(&heard);
    }
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static pid_t start_idle(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        (void)poll(NULL, 0, -1);
        _exit(0);
    }
    return pid;
}

static bool dies_after_look; /* the child dies just after waitid() has found no ended child */

/* Replaces that of the library. */
int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
    long status = syscall(SYS_waitid, type, id, info, options, NULL);
    if (!dies_after_look || status != 0 || info->si_pid)
        return (int)status;
    size_t count;
    siginfo_t ended;
    struct process *family = processes_family(getpid(), &count);
    assert_int_equal(count, 1);
    assert_int_equal(kill(family->pid, SIGKILL), 0);
    assert_int_equal(syscall(SYS_waitid, P_PID, family->pid, &ended, WEXITED | WNOWAIT, NULL), 0);
    dies_after_look = false;
    free(family);
    return 0;
}

static void the_start_of_a_process_that_dies_meanwhile_is_known(void **state)
{
    (void)state;
    int status;
    uint64_t started, before = processes_now();
    pid_t pid = start_idle(), reaped;
    dies_after_look = true;
    while ((reaped = processes_reap(&status, &started)) == 0)
        ;
    assert_int_equal(reaped, pid);
    assert_in_range(started, before, processes_now());
    assert_int_equal(processes_reap(&status, &started), -1);
}

/* A process that is older than the crew tells nothing about a hang. */
static size_t count_evidence(uint64_t since)
{
    pid_t pids[2];
    struct evidence *evidence = evidence_begin(since);
    size_t count = evidence_pids(evidence, pids, 2);
    evidence_free(evidence);
    return count;
}

static void a_process_is_known_to_be_older_than_a_moment(void **state)
{
    (void)state;
    uint64_t before = processes_now(), started;
    size_t count;
    int status;
    pid_t pid = start_idle(), reaped;
    struct process *family = processes_family(getpid(), &count);
    assert_int_equal(count, 1);
    assert_in_range(family->started, before, processes_now());
    assert_true(processes_any_since(family->started));
    assert_false(processes_any_since(family->started + 1));
    assert_int_equal(count_evidence(family->started), 1);
    assert_int_equal(count_evidence(family->started + 1), 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    while ((reaped = processes_reap(&status, &started)) == 0)
        (void)poll(NULL, 0, 1);
    assert_int_equal(reaped, pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(started, family->started);
    assert_int_equal(processes_reap(&status, &started), -1);
    assert_int_equal(started, 0);
    free(family);
}

static bool forks_late; /* another process is forked after the next one to kill was found */
static pid_t late;

/* Replaces that of the library. */
int kill(pid_t pid, int number)
{
    if (forks_late) {
        forks_late = false;
        late = start_idle();
    }
    return (int)syscall(SYS_kill, pid, number);
}

static bool is_no_rank_started(void *context, unsigned local_rank)
{
    (void)context;
    (void)local_rank;
    return true;
}

static void a_crew_kills_leftovers_that_are_forked_meanwhile(void **state)
{
    (void)state;
    const struct assignment assignment = {.file.run_dir = "/runs/1", .stop_signal = SIGTERM};
    struct crew_options options = {.assignment = &assignment, .script = "job", .count = 1};
    struct crew *crew;
    struct error err;
    uv_loop_t loop;
    uv_loop_init(&loop);
    options.loop = &loop;
    options.is_over = is_no_rank_started;
    pid_t found = start_idle();
    forks_late = true;
    assert_int_equal(crew_start(&options, &crew, &err), 0);
    assert_false(forks_late);
    const pid_t pids[] = {found, late};
    for (size_t i = 0; i < 2; i++) {
        int status;
        (void)kill(pids[i], SIGTERM); /* SIGKILL acts first */
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    }
    crew_close(crew);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&loop), 0);
}

/* Without ranks, because they were done before, or because they cannot be started. */
static void a_crew_without_ranks_ends_well_unless_a_rank_cannot_be_started(void **state)
{
    (void)state;
    for (int is_wanted = 0; is_wanted < 2; is_wanted++) {
        const struct assignment assignment = {
            .file.run_dir = "/runs/1", .workdir = "/nowhere", .stop_signal = SIGTERM};
        const struct rank_place place = {.nodes = 1, .ranks_per_node = 1, .address = "n1"};
        struct environment environment = {0};
        struct crew_options options = {.assignment = &assignment,
                                       .environment = &environment,
                                       .place = &place,
                                       .script = "job",
                                       .count = 1,
                                       .is_over = is_wanted ? NULL : is_no_rank_started};
        struct crew *crew;
        struct error err;
        uv_loop_t loop;
        uv_loop_init(&loop);
        options.loop = &loop;
        assert_int_equal(crew_start(&options, &crew, &err), is_wanted ? -ENOENT : 0);
        assert_int_equal(crew_count(crew), 0);
        assert_true(crew_is_gone(crew));
        assert_int_equal(crew_ended_well(crew), !is_wanted);
        crew_close(crew);
        assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
        assert_int_equal(uv_loop_close(&loop), 0);
        environment_fini(&environment);
    }
}

/* The thread waits uninterruptibly for the process that it starts. */
static void *wait_for_a_process(void *nothing)
{
    pid_t parent = getpid();
    if (syscall(SYS_clone, CLONE_VFORK | SIGCHLD, NULL, NULL, NULL, NULL) == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent) /* otherwise the parent was killed before the prctl() */
            (void)poll(NULL, 0, -1);
        _exit(0);
    }
    return nothing;
}

static void a_process_is_stuck_if_one_of_its_threads_is(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, wait_for_a_process, NULL) == 0)
            (void)poll(NULL, 0, -1);
        _exit(1);
    }
    pid_t thread; /* it is stuck earlier than its process sleeps */
    while (((thread = process_stuck_thread(pid)) == 0 || thread == pid) &&
           waitpid(pid, NULL, WNOHANG) == 0)
        (void)poll(NULL, 0, 1);
    assert_true(thread && thread != pid);
    assert_int_equal(process_stuck_thread(getpid()), 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    while (waitpid(-1, NULL, 0) > 0) /* this process has adopted the other one */
        ;
    assert_int_equal(process_stuck_thread(pid), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_is_reported_once_after_all_output_is_read),
        cmocka_unit_test(a_line_that_is_too_long_is_dropped),
        cmocka_unit_test(both_outputs_may_share_a_pipe),
        cmocka_unit_test(a_child_reads_what_is_sent),
        cmocka_unit_test(a_child_of_the_loop_is_killed_at_its_deadline),
        cmocka_unit_test(a_child_of_the_agent_inherits_only_its_standard_streams),
        cmocka_unit_test(a_child_that_cannot_be_started_is_reported),
        cmocka_unit_test(the_kind_of_a_child_decides_its_parent_and_session),
        cmocka_unit_test(the_start_of_a_process_that_dies_meanwhile_is_known),
        cmocka_unit_test(a_process_is_known_to_be_older_than_a_moment),
        cmocka_unit_test(a_crew_kills_leftovers_that_are_forked_meanwhile),
        cmocka_unit_test(a_crew_without_ranks_ends_well_unless_a_rank_cannot_be_started),
        cmocka_unit_test(a_process_is_stuck_if_one_of_its_threads_is),
    };
    return cmocka_run_group_tests_name("child", tests, NULL, NULL);
}
