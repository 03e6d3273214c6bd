/* The references of the benchmarks: the speed of the bare libraries on the same machine.
 *
 *   bench_reference submit COUNT        submits held jobs in a loop by libslurm; prints jobs/s
 *   bench_reference insert FILE COUNT   inserts rows into a record's metric table; prints rows/s */
#include "lib/text.h"

#include <errno.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { NAMES = 10, ROWS_PER_TRANSACTION = 10000 };

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int submit(long count)
{
    char path[] = "PATH=/usr/bin:/bin", name[] = "bench", work_dir[] = "/", null[] = "/dev/null";
    char script[] = "#!/bin/sh\nexec true\n", gpus[] = "gres:gpu:h100:1";
    char *environment[] = {path, NULL};
    slurm_init(NULL);
    double begin = now_s();
    for (long i = 0; i < count; i++) {
        job_desc_msg_t job;
        submit_response_msg_t *response = NULL;
        slurm_init_job_desc_msg(&job);
        job.name = name;
        job.script = script;
        job.environment = environment;
        job.env_size = 1;
        job.work_dir = work_dir;
        job.std_in = job.std_out = job.std_err = null;
        job.user_id = getuid();
        job.group_id = getgid();
        job.min_nodes = job.max_nodes = job.num_tasks = 1;
        job.tres_per_node = gpus;
        job.time_limit = 10;
        job.priority = 0; /* held */
        if (slurm_submit_batch_job(&job, &response) != SLURM_SUCCESS) {
            (void)fprintf(stderr, "bench_reference: %s\n", slurm_strerror(errno));
            return 1;
        }
        slurm_free_submit_response_response_msg(response);
    }
    (void)printf("%.0f\n", (double)count / (now_s() - begin));
    return 0;
}

static void execute(sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK)
        return;
    (void)fprintf(stderr, "bench_reference: %s: %s\n", sql, sqlite3_errmsg(db));
    exit(1);
}

static int insert(const char *file, long count)
{
    sqlite3 *db;
    sqlite3_stmt *statement;
    if (sqlite3_open(file, &db) != SQLITE_OK) {
        (void)fprintf(stderr, "bench_reference: %s: %s\n", file, sqlite3_errmsg(db));
        return 1;
    }
    execute(db, "PRAGMA journal_mode = WAL");
    execute(db, "PRAGMA synchronous = FULL");
    execute(db, "PRAGMA foreign_keys = ON");
    execute(db, "INSERT INTO metric_name (name) WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT "
                "i + 1 FROM n WHERE i < 9) SELECT 'reference_' || i FROM n");
    int prepared = sqlite3_prepare_v2(
        db,
        "INSERT INTO metric (run, name, step, value, time) SELECT (SELECT max(id) FROM run), "
        "(SELECT id FROM metric_name WHERE name = 'reference_0') + ?1, ?2, ?3, ?4",
        -1, &statement, NULL);
    if (prepared != SQLITE_OK) {
        (void)fprintf(stderr, "bench_reference: %s\n", sqlite3_errmsg(db));
        return 1;
    }
    double begin = now_s();
    for (long i = 0; i < count; i++) {
        if (i % ROWS_PER_TRANSACTION == 0)
            execute(db, "BEGIN");
        sqlite3_bind_int64(statement, 1, i % NAMES);
        sqlite3_bind_int64(statement, 2, i / NAMES);
        sqlite3_bind_double(statement, 3, 5.0 - (double)i * 1e-6);
        sqlite3_bind_int64(statement, 4, 1790000000000 + i);
        if (sqlite3_step(statement) != SQLITE_DONE) {
            (void)fprintf(stderr, "bench_reference: %s\n", sqlite3_errmsg(db));
            return 1;
        }
        sqlite3_reset(statement);
        if (i % ROWS_PER_TRANSACTION == ROWS_PER_TRANSACTION - 1 || i == count - 1)
            execute(db, "COMMIT");
    }
    (void)printf("%.0f\n", (double)count / (now_s() - begin));
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && text_equal(argv[1], "submit"))
        return submit(strtol(argv[2], NULL, 10));
    if (argc == 4 && text_equal(argv[1], "insert"))
        return insert(argv[2], strtol(argv[3], NULL, 10));
    (void)fprintf(stderr, "usage: bench_reference submit COUNT | insert FILE COUNT\n");
    return 2;
}
