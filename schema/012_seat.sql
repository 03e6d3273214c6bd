-- Version 12: places in jobs.
--
-- A job that was a guest in the allocation of another one was never one of Slurm's: it becomes a
-- seat in that job. Of several jobs for one run each says which seat it is submitted for.

CREATE TABLE seat (
    -- One place in a job. Runs take it one after another; phases side by side have one each.
    id       INTEGER PRIMARY KEY,
    workflow INTEGER NOT NULL REFERENCES workflow DEFERRABLE INITIALLY DEFERRED,
    token    TEXT NOT NULL UNIQUE, -- of its folder, phased-TOKEN: that of the first job for it, and
                                   -- its own if it joined a job
    slot     INTEGER NOT NULL      -- its part of the job's GPUs, from 0, of members side by side
) STRICT;

CREATE INDEX seat_workflow ON seat (workflow);

INSERT INTO seat (id, workflow, token, slot)
SELECT id, workflow, token, slot FROM job WHERE ifnull(first, id) = id;

-- The place that the run is in, and the job that the place is in.
ALTER TABLE run ADD COLUMN seat INTEGER REFERENCES seat;
UPDATE run
   SET seat = (SELECT ifnull(first, id) FROM job WHERE id = run.job),
       job = (SELECT ifnull(host, id) FROM job WHERE id = run.job);
CREATE INDEX run_seat ON run (seat);

UPDATE outbox SET job = (SELECT ifnull(host, id) FROM job WHERE id = outbox.job);

-- The jobs without those that were guests. Runs refer to jobs that are away for a moment.
PRAGMA defer_foreign_keys = ON;
CREATE TABLE job_kept AS SELECT * FROM job WHERE host IS NULL;
DROP TABLE job;

CREATE TABLE job (
    -- A job of Slurm, from the intent to submit it. Runs take its seats one after another.
    id            INTEGER PRIMARY KEY,
    workflow      INTEGER NOT NULL REFERENCES workflow DEFERRABLE INITIALLY DEFERRED,
    token         TEXT NOT NULL UNIQUE, -- in the job's comment: by it the job is found again
    seat          INTEGER NOT NULL REFERENCES seat DEFERRABLE INITIALLY DEFERRED,
                                        -- that it is submitted for, maybe with others
    gpu_type      TEXT,                 -- of GPUs that it asks for; NULL: as its phase
    usd_per_gpu_hour REAL,              -- where gpu_type says it; NULL: not known
    slurm_id      INTEGER,              -- NULL: not known to exist
    state         TEXT,                 -- Slurm's, in small letters
    reason        TEXT,                 -- why it waits, in Slurm's words
    nodes         TEXT,                 -- as Slurm abbreviates them: n[1-4]
    node_count    INTEGER NOT NULL,     -- what was asked for
    gpus_per_node INTEGER NOT NULL,
    time_s        INTEGER NOT NULL,     -- its limit
    over          INTEGER NOT NULL,     -- 1: Slurm says so, or it was absent too long
    restarts      INTEGER NOT NULL,     -- how often Slurm has requeued it
    submitted     INTEGER,
    started       INTEGER,
    ended         INTEGER,
    absent_since  INTEGER               -- when Slurm was first asked and did not know it
) STRICT;

CREATE INDEX job_workflow ON job (workflow);

INSERT INTO job (id, workflow, token, seat, gpu_type, usd_per_gpu_hour, slurm_id, state, reason,
                 nodes, node_count, gpus_per_node, time_s, over, restarts, submitted, started,
                 ended, absent_since)
SELECT id, workflow, token, ifnull(first, id), gpu_type, usd_per_gpu_hour, slurm_id, state, reason,
       nodes, node_count, gpus_per_node, time_s, over, restarts, submitted, started, ended,
       absent_since
  FROM job_kept;
DROP TABLE job_kept;

DROP VIEW v_run;
CREATE VIEW v_run AS
    -- Runs, with their addresses and what they cost so far. Members of a matrix side by side pay for
    -- their parts of the allocation each; of other runs in one the first pays for the time in which
    -- it is there. `paid_seconds` is what a run pays for as time of the whole allocation.
    SELECT phase.workflow || '/' || phase.name || '#' || run.attempt AS address,
           run.state, run.outcome, run.cause, run.message,
           job.slurm_id AS job_id, job.state AS job_state, ifnull(run.nodes, job.nodes) AS nodes,
           datetime(run.submitted / 1000, 'unixepoch') AS submitted,
           datetime(run.started / 1000, 'unixepoch') AS started,
           datetime(run.ended / 1000, 'unixepoch') AS ended,
           run.resume_step AS first_step, run.last_step, run.in_place,
           run.lasted / 1000.0 AS seconds,
           run.paid / 1000.0 AS paid_seconds,
           run.paid / 3600000.0 * job.node_count * job.gpus_per_node AS gpu_hours,
           run.paid / 3600000.0 * job.node_count
               * coalesce(phase.usd_per_node_hour, job.gpus_per_node
                   * CASE WHEN job.gpu_type IS NULL THEN phase.usd_per_gpu_hour
                          ELSE job.usd_per_gpu_hour END)
               AS usd,
           phase.workflow, phase.id AS phase, run.id AS run
      FROM (SELECT run.*,
                   CASE WHEN run.lanes IS NOT NULL THEN run.lasted * 1.0 / run.lanes ELSE
                   -- The time in which another run of the allocation was there, of a lower id: theirs
                   -- one after the other, each from where those before it have ended.
                   run.lasted -
                   (SELECT total(max(until - max(since, ifnull(before, since)), 0))
                      FROM (SELECT since, until,
                                   max(until) OVER (ORDER BY since, id
                                                    ROWS BETWEEN UNBOUNDED PRECEDING
                                                             AND 1 PRECEDING) AS before
                              FROM (SELECT other.id, max(run.started, other.started) AS since,
                                           min(ifnull(run.ended, run.now),
                                               ifnull(other.ended, run.now),
                                               ifnull(job.absent_since, run.now)) AS until
                                      FROM run AS other
                                     WHERE other.job = job.id AND other.id < run.id)
                             WHERE until > since)) END AS paid
              FROM (SELECT run.*, matrix.lanes, now.ms AS now,
                           max(min(ifnull(run.ended, now.ms), ifnull(job.absent_since, now.ms))
                               - run.started, 0) AS lasted
                      FROM run
                      JOIN job ON job.id = run.job
                      JOIN (SELECT CAST(strftime('%s') AS INTEGER) * 1000 AS ms) AS now
                      LEFT JOIN member ON member.phase = run.phase
                      LEFT JOIN matrix ON matrix.phase = member.matrix AND matrix.parallel) AS run
              JOIN job ON job.id = run.job) AS run
      JOIN phase ON phase.id = run.phase
      JOIN job ON job.id = run.job;

DROP VIEW v_waiting;
CREATE VIEW v_waiting AS
    -- What allocations cost so far that no run pays for: nothing was there, or in a part of it. It
    -- counts for the first run.
    SELECT job.workflow, phase.id AS phase, first.id AS run,
           phase.workflow || '/' || phase.name || '#' || first.attempt AS address,
           ifnull(first.started, job.started) AS began,
           idle.ms / 1000.0 AS seconds,
           idle.ms / 3600000.0 * job.node_count * job.gpus_per_node AS gpu_hours,
           idle.ms / 3600000.0 * job.node_count
               * coalesce(phase.usd_per_node_hour, job.gpus_per_node
                   * CASE WHEN job.gpu_type IS NULL THEN phase.usd_per_gpu_hour
                          ELSE job.usd_per_gpu_hour END) AS usd
      FROM (SELECT job.id AS job, (SELECT min(run.id) FROM run WHERE run.job = job.id) AS run,
                   max(CASE WHEN job.over THEN ifnull(job.ended, job.started)
                            ELSE ifnull(job.absent_since, now.ms) END
                       - job.started
                       - (SELECT total(v_run.paid_seconds) * 1000
                            FROM run AS inside
                            JOIN v_run ON v_run.run = inside.id
                           WHERE inside.job = job.id AND inside.started >= job.started), 0) AS ms
              FROM job
              JOIN (SELECT CAST(strftime('%s') AS INTEGER) * 1000 AS ms) AS now
             WHERE job.started IS NOT NULL) AS idle
      JOIN job ON job.id = idle.job
      JOIN run AS first ON first.id = idle.run
      JOIN phase ON phase.id = first.phase
     WHERE idle.ms > 0;
