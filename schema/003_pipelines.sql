-- Version 3: what a workflow does besides one phase after the other.

-- Matrices.

-- From 0: the rung that a matrix is at; of a member the one that it was let go on to.
ALTER TABLE phase ADD COLUMN rung INTEGER NOT NULL DEFAULT 0;

-- That of its phase when it began.
ALTER TABLE run ADD COLUMN rung INTEGER NOT NULL DEFAULT 0;

-- Which part of the job's GPUs it has, from 0: one of several members of a matrix side by side.
ALTER TABLE job ADD COLUMN slot INTEGER NOT NULL DEFAULT 0;

CREATE TABLE matrix (
    -- A phase that runs as many phases, its members.
    phase INTEGER PRIMARY KEY REFERENCES phase DEFERRABLE INITIALLY DEFERRED,
    lanes INTEGER NOT NULL, -- how many members run at once; 0: all, each in its own job
    parallel INTEGER NOT NULL, -- 1: in one job, each with a part of its GPUs
    rungs INTEGER NOT NULL, -- how often members run, fewer each time; 1: once
    best  INTEGER REFERENCES phase DEFERRABLE INITIALLY DEFERRED -- the member; NULL: none yet
) STRICT;

CREATE TABLE member (
    -- A phase of a matrix, and what the matrix found of it.
    phase    INTEGER PRIMARY KEY REFERENCES phase DEFERRABLE INITIALLY DEFERRED,
    matrix   INTEGER NOT NULL REFERENCES phase DEFERRABLE INITIALLY DEFERRED,
    number   INTEGER NOT NULL, -- from 1
    params   TEXT NOT NULL,    -- those that tell it from the others, as JSON: {"BATCH_SIZE": 64}
    value    REAL,             -- of `best`; NULL: not known
    standing TEXT CHECK (standing IN ('best', 'left', 'cut', 'out')), -- NULL: not judged
    reason   TEXT,             -- why it is out, for people
    fingerprint TEXT,          -- of all that the spec says of it, and of the folder and the code
    reused   INTEGER REFERENCES phase DEFERRABLE INITIALLY DEFERRED,
                               -- the equal one of an earlier workflow whose results it has taken
    reused_rung INTEGER NOT NULL, -- from 0: up to this one it has them
    UNIQUE (matrix, number)
) STRICT;

CREATE INDEX member_fingerprint ON member (fingerprint);

CREATE TABLE choice (
    -- Params that a matrix's decision has changed: of itself, or of a member that went on.
    id      INTEGER PRIMARY KEY,
    phase   INTEGER NOT NULL REFERENCES phase DEFERRABLE INITIALLY DEFERRED, -- whose params
    changes TEXT NOT NULL,    -- [{"param": "BATCH_SIZE", "from": 64, "to": 128}]
    time    INTEGER NOT NULL
) STRICT;

CREATE INDEX choice_phase ON choice (phase);

CREATE VIEW v_member AS
    -- The members of matrices, with addresses.
    SELECT phase.workflow || '/' || phase.name AS address, matrix.name AS matrix, member.number,
           member.params, phase.state, member.value, member.standing, member.reason, member.phase
      FROM member
      JOIN phase ON phase.id = member.phase
      JOIN phase AS matrix ON matrix.id = member.matrix;

DROP VIEW v_workflow;
CREATE VIEW v_workflow AS
    -- Workflows, with the state that follows from those of their phases; a matrix speaks for its
    -- members when they have ended.
    SELECT workflow.id AS workflow, workflow.name,
           CASE
               WHEN min(phase.state IN ('succeeded', 'failed', 'cancelled', 'skipped')) = 0 THEN
                   CASE WHEN max(phase.state = 'held')
                             AND NOT max(phase.state IN ('queued', 'active', 'deciding'))
                        THEN 'held' ELSE 'running' END
               WHEN max(phase.state = 'failed' AND member.phase IS NULL) THEN 'failed'
               WHEN max(phase.state = 'cancelled' AND member.phase IS NULL) THEN 'cancelled'
               ELSE 'succeeded'
           END AS state,
           datetime(workflow.submitted / 1000, 'unixepoch') AS submitted,
           datetime(workflow.ended / 1000, 'unixepoch') AS ended,
           count(*) - count(member.phase) AS phases, workflow.file, workflow.workdir
      FROM workflow
      JOIN phase ON phase.workflow = workflow.id
      LEFT JOIN member ON member.phase = phase.id
     GROUP BY workflow.id;

-- The queue.

-- What a submission asked for. The higher, the earlier its jobs are submitted.
ALTER TABLE workflow ADD COLUMN priority INTEGER NOT NULL DEFAULT 0;
-- The workflow that must have succeeded; NULL: none.
ALTER TABLE workflow ADD COLUMN after INTEGER REFERENCES workflow;
-- Minutes of the day between which its jobs are submitted; equal: at any time.
ALTER TABLE workflow ADD COLUMN window_from INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workflow ADD COLUMN window_to INTEGER NOT NULL DEFAULT 0;

-- Budgets.

-- The limit that a person has given it instead of the file's, as JSON: {"usd": 700}; NULL: none.
ALTER TABLE workflow ADD COLUMN budget TEXT;
-- 1: it was said that most of the budget is spent.
ALTER TABLE workflow ADD COLUMN budget_told INTEGER NOT NULL DEFAULT 0;

CREATE TABLE month (
    -- What all workflows together may spend in a month.
    month  TEXT PRIMARY KEY, -- 2026-11, of local time
    budget TEXT,             -- of limits.yaml, when it was last right, as JSON; NULL: none
    told   INTEGER NOT NULL  -- 1: it was said that most of it is spent
) STRICT;

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
                                      FROM job AS its
                                      JOIN run AS other ON other.job = its.id
                                     WHERE (its.id = ifnull(job.host, job.id)
                                            OR its.host = ifnull(job.host, job.id))
                                       AND other.id < run.id)
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
                            FROM job AS its
                            JOIN run AS inside ON inside.job = its.id
                            JOIN v_run ON v_run.run = inside.id
                           WHERE (its.id = job.id OR its.host = job.id)
                             AND inside.started >= job.started), 0) AS ms
              FROM job
              JOIN (SELECT CAST(strftime('%s') AS INTEGER) * 1000 AS ms) AS now
             WHERE job.started IS NOT NULL AND job.host IS NULL) AS idle
      JOIN job ON job.id = idle.job
      JOIN run AS first ON first.id = idle.run
      JOIN phase ON phase.id = first.phase
     WHERE idle.ms > 0;

CREATE VIEW v_paid AS
    -- What allocations cost so far: what runs paid for, and what none did. All that is said of costs
    -- is the sum of these.
    SELECT v_run.workflow, v_run.phase, v_run.run, run.started AS began, v_run.paid_seconds,
           v_run.gpu_hours, v_run.usd
      FROM v_run
      JOIN run ON run.id = v_run.run
     WHERE run.started IS NOT NULL
    UNION ALL
    SELECT workflow, phase, run, began, seconds, gpu_hours, usd
      FROM v_waiting;

CREATE VIEW v_cost AS
    -- What allocations cost so far, and what came of it: useful (steps that were gone on from),
    -- waiting (no run was there, or in a part of it), repeated (it succeeded, and its steps were made again), or else
    -- the outcome of the run that lost it.
    WITH RECURSIVE used(run, until) AS (
        -- The newest run of each phase, which may be gone on from as far as it has saved, and those
        -- before it that it goes on from, each to that step.
        SELECT run.id, NULL
          FROM run
         WHERE run.attempt = (SELECT max(attempt) FROM run AS other WHERE other.phase = run.phase)
        UNION ALL
        SELECT ifnull((SELECT before.id -- whose checkpoint it is
                         FROM run AS before
                         JOIN checkpoint ON checkpoint.run = before.id
                        WHERE before.phase = later.phase AND before.attempt < later.attempt
                          AND checkpoint.path = later.resume_path
                          AND checkpoint.step = later.resume_step
                        ORDER BY before.attempt DESC LIMIT 1),
                      (SELECT before.id -- its path holds a later one by now
                         FROM run AS before
                        WHERE before.phase = later.phase AND before.attempt < later.attempt
                          AND before.last_step >= later.resume_step
                        ORDER BY before.attempt DESC LIMIT 1)),
               later.resume_step
          FROM used
          JOIN run AS later ON later.id = used.run
         WHERE later.resume_path IS NOT NULL
    ),
    share AS (
        SELECT v_run.*, run.started AS began,
               CASE
                   WHEN v_run.outcome = 'succeeded' AND member.phase IS NOT NULL
                       THEN 1.0 -- its matrix has judged by it
                   WHEN used.run IS NULL THEN 0.0
                   WHEN used.until IS NULL
                        AND (v_run.state <> 'ended' OR v_run.outcome = 'succeeded') THEN 1.0
                   WHEN v_run.last_step <= max(v_run.first_step, 0) THEN 0.0
                   ELSE min(max((ifnull(used.until,
                                        ifnull((SELECT max(step) FROM checkpoint
                                                 WHERE checkpoint.run = v_run.run), -1))
                                 - max(v_run.first_step, 0)) * 1.0
                                / (v_run.last_step - max(v_run.first_step, 0)), 0.0), 1.0)
               END AS kept
          FROM v_run
          JOIN run ON run.id = v_run.run
          LEFT JOIN used ON used.run = v_run.run
          LEFT JOIN member ON member.phase = v_run.phase
         WHERE run.started IS NOT NULL
    )
    SELECT workflow, phase, run, address, began, 'useful' AS cause, seconds * kept AS seconds,
           paid_seconds * kept AS paid_seconds, gpu_hours * kept AS gpu_hours, usd * kept AS usd
      FROM share
     WHERE kept > 0
    UNION ALL
    SELECT workflow, phase, run, address, began,
           CASE ifnull(outcome, 'succeeded') WHEN 'succeeded' THEN 'repeated' ELSE outcome END,
           seconds * (1 - kept), paid_seconds * (1 - kept), gpu_hours * (1 - kept), usd * (1 - kept)
      FROM share
     WHERE kept < 1
    UNION ALL
    SELECT workflow, phase, run, address, began, 'waiting', seconds, seconds, gpu_hours, usd
      FROM v_waiting;

-- Provenance.

CREATE TABLE provenance (
    -- The code of a workflow, as it was at its submission.
    workflow  INTEGER PRIMARY KEY REFERENCES workflow DEFERRABLE INITIALLY DEFERRED,
    root      TEXT, -- the git repository that submit was called in; NULL: none
    commit_id TEXT, -- what was checked out
    branch    TEXT, -- NULL: none
    diff      TEXT, -- what was changed since, for git apply; NULL: see diff_note
    diff_note TEXT, -- why there is no diff
    untracked TEXT, -- files that git does not know and does not ignore, a name a line
    packages  TEXT, -- of the Python environment that was active, name==version a line
    snapshot  TEXT  -- the folder of the copy that runs use; NULL: none was asked for
) STRICT;

-- Notices.

CREATE TABLE notice (
    -- What somebody is to be told, and whether they were. Written with what it tells of, so that a
    -- daemon that is killed owes it still.
    id       INTEGER PRIMARY KEY,
    workflow INTEGER NOT NULL REFERENCES workflow DEFERRABLE INITIALLY DEFERRED,
    phase    INTEGER REFERENCES phase DEFERRABLE INITIALLY DEFERRED, -- that it is about
    kind     TEXT NOT NULL CHECK (kind IN ('held', 'failed', 'succeeded', 'budget')),
    way      TEXT NOT NULL CHECK (way IN ('command', 'webhook')),
    own      INTEGER NOT NULL DEFAULT 0, -- 1: the phase's own `notify` wants it
    message  TEXT NOT NULL,
    time     INTEGER NOT NULL,
    tries    INTEGER NOT NULL DEFAULT 0, -- that failed
    due      INTEGER NOT NULL,           -- not before
    done     INTEGER                     -- when it was told, or given up; NULL: not yet
) STRICT;

CREATE INDEX notice_due ON notice (due) WHERE done IS NULL;

CREATE TRIGGER notice_held AFTER INSERT ON event
    WHEN NEW.type = 'phase' AND NEW.to_state = 'held' OR NEW.to_state = 'budget'
BEGIN
    INSERT INTO notice (workflow, phase, kind, way, message, time, due)
    SELECT workflow.id, NEW.phase, wanted.value, way.column1, ifnull(NEW.message, ''), NEW.time,
           NEW.time
      FROM workflow,
           json_each(workflow.resolved, '$.notify.on') AS wanted,
           (VALUES ('command'), ('webhook')) AS way
     WHERE workflow.id = NEW.workflow AND wanted.value = NEW.to_state
       AND NOT EXISTS (SELECT 1 FROM notice AS same -- phases that are held together
                        WHERE same.done IS NULL AND same.workflow = NEW.workflow AND NOT same.own
                          AND same.kind = NEW.to_state AND same.way = way.column1
                          AND same.message = NEW.message AND same.time > NEW.time - 10000)
       AND json_extract(workflow.resolved, '$.notify.' || way.column1) IS NOT NULL;
END;

-- Of members of a matrix only what waits for a person: the matrix tells the rest.
CREATE TRIGGER notice_phase AFTER INSERT ON event
    WHEN NEW.type = 'phase' AND NEW.to_state IN ('held', 'failed', 'succeeded')
BEGIN
    INSERT INTO notice (workflow, phase, kind, way, own, message, time, due)
    SELECT phase.workflow, phase.id, wanted.value, way.column1, 1, ifnull(NEW.message, ''),
           NEW.time, NEW.time
      FROM phase,
           json_each(phase.spec, '$.notify.on') AS wanted,
           (VALUES ('command'), ('webhook')) AS way
     WHERE phase.id = NEW.phase AND wanted.value = NEW.to_state
       AND (NEW.to_state = 'held' OR json_extract(phase.spec, '$.member') IS NULL)
       AND json_extract(phase.spec, '$.notify.' || way.column1) IS NOT NULL;
END;

CREATE TRIGGER notice_ended AFTER UPDATE OF ended ON workflow
    WHEN OLD.ended IS NULL AND NEW.ended IS NOT NULL
BEGIN
    INSERT INTO notice (workflow, kind, way, message, time, due)
    SELECT NEW.id, wanted.value, way.column1,
           ifnull((SELECT phase.name || ': ' || phase.reason FROM phase
                    WHERE phase.workflow = NEW.id AND phase.state = 'failed'
                    ORDER BY phase.position LIMIT 1), ''),
           NEW.ended, NEW.ended
      FROM v_workflow,
           json_each(NEW.resolved, '$.notify.on') AS wanted,
           (VALUES ('command'), ('webhook')) AS way
     WHERE v_workflow.workflow = NEW.id AND wanted.value = v_workflow.state
       AND json_extract(NEW.resolved, '$.notify.' || way.column1) IS NOT NULL;
END;
