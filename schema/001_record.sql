-- The record of phased, version 1. doc/record.md says it in prose and with examples.
--
-- Times are milliseconds since 1970 (UTC); the views show them as text. Where the daemon's model
-- has an empty text, "none" or no time, there is NULL. A column named as a table holds an id of it.

CREATE TABLE workflow (
    -- One submitted workflow file.
    id          INTEGER PRIMARY KEY, -- the 7 of 7/validate#2
    name        TEXT NOT NULL,       -- the file's name for it
    submitted   INTEGER NOT NULL,
    ended       INTEGER,             -- NULL: a phase may still go on
    key         TEXT UNIQUE,         -- the client's: a submission that is repeated is known by it
    file        TEXT NOT NULL,       -- as the client named it
    workdir     TEXT NOT NULL,       -- where submit was called
    host        TEXT,                -- likewise the machine
    umask       INTEGER NOT NULL,    -- of submit
    limits      TEXT NOT NULL,       -- of submit, as JSON: ["NOFILE=1024"]
    overrides   TEXT,                -- what --set gave, as JSON
    resolved    TEXT NOT NULL,       -- the resolved file but its phases, as JSON
    environment TEXT NOT NULL,       -- of submit, as JSON
    spec        TEXT NOT NULL        -- the text of the file
) STRICT;

CREATE INDEX workflow_ended ON workflow (ended);

CREATE TABLE phase (
    -- A phase of a workflow: where it stands, and what of its spec the daemon decides by.
    id              INTEGER PRIMARY KEY,
    workflow        INTEGER NOT NULL REFERENCES workflow DEFERRABLE INITIALLY DEFERRED,
    position        INTEGER NOT NULL,           -- from 0; each phase comes after those before it
    name            TEXT NOT NULL,
    state           TEXT NOT NULL CHECK (state IN ('blocked', 'queued', 'active', 'deciding',
                        'held', 'succeeded', 'failed', 'cancelled', 'skipped')),
    hold            TEXT CHECK (hold IN ('user', 'manual', 'gate', 'failure', 'progress')),
                                                -- what a held one waits for a person about
    reason          TEXT,                       -- why it is where it is, for people
    overridden      INTEGER NOT NULL,           -- 1: a person promoted it against its gate
    checkpoint_path TEXT,                       -- the newest whole one of any of its runs
    checkpoint_step INTEGER NOT NULL,           -- its step
    attempts        INTEGER NOT NULL,           -- runs so far
    failures        TEXT NOT NULL,              -- by cause, as JSON: {"hang": 1}; these three
                                                -- count from a person's last command on
    losses          INTEGER NOT NULL,           -- lost runs
    stalls          INTEGER NOT NULL,           -- resumptions in a row without a new step
    promote         TEXT NOT NULL CHECK (promote IN ('auto', 'manual')), -- who lets the next start
    on_fail         TEXT NOT NULL CHECK (on_fail IN ('hold', 'fail')), -- ask a person, or give up
    has_checkpoint  INTEGER NOT NULL,           -- 1: the spec says where checkpoints are
    nodes           INTEGER NOT NULL,           -- that it asks for
    gpus_per_node   INTEGER NOT NULL,
    cpus_per_node   INTEGER NOT NULL,           -- 0: not asked for
    gpu_type        TEXT,                       -- NULL: any
    time_s          INTEGER NOT NULL,           -- the limit of one run
    stop_s          INTEGER NOT NULL,           -- how long it may take to stop
    linger_s        INTEGER NOT NULL,           -- how long it keeps its nodes for the next phase
    slurm_options   TEXT,                       -- of sbatch, as JSON
    total           REAL,                       -- steps that it will take; NULL: not said
    usd_per_node_hour REAL,                     -- the price, or
    usd_per_gpu_hour  REAL,                     -- by GPU; both NULL: not known
    spec            TEXT NOT NULL,              -- the resolved phase, as JSON
    UNIQUE (workflow, position),
    UNIQUE (workflow, name)
) STRICT;

CREATE INDEX phase_held ON phase (workflow) WHERE state = 'held'; -- what waits for a person

CREATE TABLE edge (
    -- A phase waits for one before it.
    phase    INTEGER NOT NULL REFERENCES phase DEFERRABLE INITIALLY DEFERRED,
    position INTEGER NOT NULL, -- in the spec's list, from 0
    after    INTEGER NOT NULL REFERENCES phase DEFERRABLE INITIALLY DEFERRED, -- the one before
    PRIMARY KEY (phase, position)
) STRICT, WITHOUT ROWID;

CREATE INDEX edge_after ON edge (after);

CREATE TABLE job (
    -- A job of Slurm, from the intent to submit it. It may serve several runs, one after another.
    id            INTEGER PRIMARY KEY,
    workflow      INTEGER NOT NULL REFERENCES workflow DEFERRABLE INITIALLY DEFERRED,
    token         TEXT NOT NULL UNIQUE, -- in the job's comment: by it the job is found again
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

CREATE TABLE run (
    -- One attempt at a phase.
    id           INTEGER PRIMARY KEY,
    phase        INTEGER NOT NULL REFERENCES phase DEFERRABLE INITIALLY DEFERRED,
    attempt      INTEGER NOT NULL,  -- the 2 of 7/validate#2
    state        TEXT NOT NULL CHECK (state IN ('submitting', 'pending', 'starting', 'running',
                     'stopping', 'ended')),
    outcome      TEXT CHECK (outcome IN ('succeeded', 'failed', 'preempted', 'timed_out',
                     'cancelled', 'lost')),          -- of an ended one
    cause        TEXT CHECK (cause IN ('exit', 'oom', 'nan', 'guard', 'hang', 'preflight',
                     'node_fail', 'launch')),        -- of a failed one
    message      TEXT,              -- how it ended, for people
    job          INTEGER NOT NULL REFERENCES job DEFERRABLE INITIALLY DEFERRED,
    in_place     INTEGER NOT NULL,  -- 1: it went on in the job of the run before
    begun        INTEGER NOT NULL,  -- 1: its lead has reported
    wish         TEXT CHECK (wish IN ('cancel', 'hold')), -- why it is told to stop
    resume_path  TEXT,              -- the checkpoint it starts from; NULL: from the start
    resume_step  INTEGER NOT NULL,  -- its step; -1: none
    last_step    INTEGER NOT NULL,  -- the newest it has told; -1: none
    exit_code    INTEGER NOT NULL,  -- of the first rank that failed
    signal       INTEGER NOT NULL,  -- that killed it; 0: none
    submitted    INTEGER,           -- when it was decided
    started      INTEGER,           -- the first rank was executed
    ended        INTEGER,           -- the last rank was gone
    silent_since INTEGER,           -- its job is over: when its outcome was last looked for
    told         INTEGER,           -- when it was last told to stop or to go on
    secret       TEXT,              -- the key of its workers' messages
    nodes        TEXT,              -- where it ran, as its lead told: n1,n2; its job's may differ
    UNIQUE (phase, attempt)
) STRICT;

CREATE INDEX run_job ON run (job);

CREATE TABLE event (
    -- The history. Lines are added, never changed.
    id         INTEGER PRIMARY KEY AUTOINCREMENT, -- ever growing
    time       INTEGER NOT NULL,
    workflow   INTEGER NOT NULL REFERENCES workflow DEFERRABLE INITIALLY DEFERRED,
    phase      INTEGER REFERENCES phase DEFERRABLE INITIALLY DEFERRED, -- that it is about
    run        INTEGER REFERENCES run DEFERRABLE INITIALLY DEFERRED,   -- likewise
    type       TEXT NOT NULL CHECK (type IN ('workflow', 'phase', 'run', 'gate', 'promotion',
                   'guard', 'checkpoint', 'warning')),
    from_state TEXT,               -- what it moved from,
    to_state   TEXT,               -- and to
    message    TEXT                -- why, for people
) STRICT;

CREATE INDEX event_workflow ON event (workflow);

CREATE TRIGGER event_stays BEFORE UPDATE ON event
BEGIN
    SELECT raise(ABORT, 'history is never changed');
END;

CREATE TABLE metric_name (
    -- Names of metrics, so that `metric` stays small.
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE metric (
    -- A value of a metric at a step of a run. v_metric shows names and phases.
    run   INTEGER NOT NULL REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    name  INTEGER NOT NULL REFERENCES metric_name DEFERRABLE INITIALLY DEFERRED,
    step  INTEGER NOT NULL,
    value REAL,               -- NULL: it was NaN, which SQLite cannot hold
    time  INTEGER NOT NULL,
    PRIMARY KEY (run, name, step)
) STRICT, WITHOUT ROWID;

CREATE TABLE checkpoint (
    -- A whole checkpoint that a run has written.
    run   INTEGER NOT NULL REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    path  TEXT NOT NULL,
    step  INTEGER NOT NULL,
    bytes INTEGER,            -- of all its files; NULL: not known
    paths TEXT,               -- all its files, as JSON; NULL: `path` is all of it
    time  INTEGER NOT NULL,
    PRIMARY KEY (run, path)
) STRICT, WITHOUT ROWID;

CREATE TABLE verdict (
    -- What a check of a gate, or a guard, said about a run, with what it was judged by.
    id       INTEGER PRIMARY KEY,
    run      INTEGER NOT NULL REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    kind     TEXT NOT NULL CHECK (kind IN ('gate', 'guard')),
    time     INTEGER NOT NULL,
    name     TEXT NOT NULL,    -- of the check
    outcome  TEXT NOT NULL CHECK (outcome IN ('passed', 'failed', 'insufficient', 'error')),
    warn     INTEGER NOT NULL, -- 1: a failure is told, not acted upon
    value    REAL,             -- NULL also where it was NaN: `verdict` tells them apart
    bounds   TEXT,             -- in words: at least 15
    reason   TEXT,             -- why it is so, for people
    verdict  TEXT NOT NULL     -- all of it, as JSON
) STRICT;

CREATE INDEX verdict_run ON verdict (run, kind);

CREATE TABLE promotion (
    -- Who or what let a phase after a phase start.
    id         INTEGER PRIMARY KEY,
    phase      INTEGER NOT NULL REFERENCES phase DEFERRABLE INITIALLY DEFERRED,
    next       INTEGER NOT NULL REFERENCES phase DEFERRABLE INITIALLY DEFERRED, -- the other one
    run        INTEGER REFERENCES run DEFERRABLE INITIALLY DEFERRED,   -- whose verdicts are why
    decided_by TEXT NOT NULL CHECK (decided_by IN ('gate', 'user')),
    who        TEXT,             -- the person
    way        TEXT NOT NULL CHECK (way IN ('in_place', 'submitted')), -- in the same job or not
    time       INTEGER NOT NULL
) STRICT;

CREATE INDEX promotion_phase ON promotion (phase);

CREATE TABLE journal (
    -- How far the journal that a node keeps of a run is in this record.
    run      INTEGER NOT NULL REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    node     TEXT NOT NULL,    -- or: lead
    sequence INTEGER NOT NULL, -- of the last entry that is in
    PRIMARY KEY (run, node)
) STRICT, WITHOUT ROWID;

CREATE TABLE node_health (
    -- A node that new jobs are kept away from. Of one node the newest row counts.
    id      INTEGER PRIMARY KEY,
    node    TEXT NOT NULL,
    cause   TEXT CHECK (cause IN ('node_fail', 'launch', 'preflight')), -- NULL: a person wants it
    run     INTEGER REFERENCES run DEFERRABLE INITIALLY DEFERRED, -- that it took down
    message TEXT,             -- why, for people
    since   INTEGER NOT NULL,
    until   INTEGER,          -- NULL: until somebody clears it
    count   INTEGER NOT NULL, -- failures in a row, each within a week of the one before
    cleared INTEGER           -- when a person took it back
) STRICT;

CREATE INDEX node_health_node ON node_health (node);

CREATE TABLE outbox (
    -- What the daemon has decided to do and does not yet know to be done.
    id       INTEGER PRIMARY KEY AUTOINCREMENT, -- in the order of the decisions
    kind     TEXT NOT NULL CHECK (kind IN ('submit', 'lookup', 'cancel-job', 'begin-job',
                 'read-outcome', 'judge', 'tell-stop', 'tell-next', 'tell-end')),
    target   INTEGER NOT NULL, -- the id of the job, run or phase that it is done to
    workflow INTEGER NOT NULL REFERENCES workflow DEFERRABLE INITIALLY DEFERRED,
    phase    INTEGER REFERENCES phase DEFERRABLE INITIALLY DEFERRED,
    run      INTEGER REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    job      INTEGER REFERENCES job DEFERRABLE INITIALLY DEFERRED,
    due      INTEGER,          -- not before; NULL: at once
    UNIQUE (kind, target)
) STRICT;

CREATE INDEX outbox_workflow ON outbox (workflow);

CREATE VIEW v_run AS
    -- Runs, with their addresses and what they cost so far.
    SELECT phase.workflow || '/' || phase.name || '#' || run.attempt AS address,
           run.state, run.outcome, run.cause, run.message,
           job.slurm_id AS job_id, job.state AS job_state, ifnull(run.nodes, job.nodes) AS nodes,
           datetime(run.submitted / 1000, 'unixepoch') AS submitted,
           datetime(run.started / 1000, 'unixepoch') AS started,
           datetime(run.ended / 1000, 'unixepoch') AS ended,
           run.resume_step AS first_step, run.last_step, run.in_place,
           run.lasted / 1000.0 AS seconds,
           run.lasted / 3600000.0 * job.node_count * job.gpus_per_node AS gpu_hours,
           run.lasted / 3600000.0 * job.node_count
               * coalesce(phase.usd_per_node_hour, phase.usd_per_gpu_hour * job.gpus_per_node)
               AS usd,
           phase.workflow, phase.id AS phase, run.id AS run
      FROM (SELECT run.*,
                   max(min(ifnull(run.ended, now.ms), ifnull(job.absent_since, now.ms))
                       - run.started, 0) AS lasted
              FROM run
              JOIN job ON job.id = run.job
              JOIN (SELECT CAST(strftime('%s') AS INTEGER) * 1000 AS ms) AS now) AS run
      JOIN phase ON phase.id = run.phase
      JOIN job ON job.id = run.job;

CREATE VIEW v_phase AS
    -- Phases, with their addresses, their newest run and what they cost so far.
    SELECT phase.workflow || '/' || phase.name AS address,
           phase.state, phase.hold, phase.reason, phase.attempts,
           newest.last_step, phase.total,
           (SELECT sum(gpu_hours) FROM v_run WHERE v_run.phase = phase.id) AS gpu_hours,
           (SELECT sum(usd) FROM v_run WHERE v_run.phase = phase.id) AS usd,
           phase.checkpoint_path AS checkpoint,
           phase.workflow, phase.id AS phase, newest.id AS run
      FROM phase
      LEFT JOIN run AS newest ON newest.phase = phase.id AND newest.attempt =
           (SELECT max(attempt) FROM run WHERE run.phase = phase.id);

CREATE VIEW v_workflow AS
    -- Workflows, with the state that follows from those of their phases.
    SELECT workflow.id AS workflow, workflow.name,
           CASE
               WHEN min(phase.state IN ('succeeded', 'failed', 'cancelled', 'skipped')) = 0 THEN
                   CASE WHEN max(phase.state = 'held')
                             AND NOT max(phase.state IN ('queued', 'active', 'deciding'))
                        THEN 'held' ELSE 'running' END
               WHEN max(phase.state = 'failed') THEN 'failed'
               WHEN max(phase.state = 'cancelled') THEN 'cancelled'
               ELSE 'succeeded'
           END AS state,
           datetime(workflow.submitted / 1000, 'unixepoch') AS submitted,
           datetime(workflow.ended / 1000, 'unixepoch') AS ended,
           count(*) AS phases, workflow.file, workflow.workdir
      FROM workflow
      JOIN phase ON phase.workflow = workflow.id
     GROUP BY workflow.id;

CREATE VIEW v_event AS
    -- The history, with addresses and times that can be read.
    SELECT event.id AS event,
           strftime('%Y-%m-%d %H:%M:%f', event.time / 1000.0, 'unixepoch') AS time,
           event.workflow || ifnull('/' || phase.name, '') || ifnull('#' || run.attempt, '')
               AS address,
           event.type, event.from_state, event.to_state, event.message
      FROM event
      LEFT JOIN run ON run.id = event.run
      LEFT JOIN phase ON phase.id = ifnull(event.phase, run.phase);

CREATE VIEW v_metric AS
    -- Metrics with their names; `value` is the text nan where it was NaN.
    SELECT phase.workflow || '/' || phase.name || '#' || run.attempt AS address,
           metric_name.name, metric.step, ifnull(metric.value, 'nan') AS value,
           strftime('%Y-%m-%d %H:%M:%f', metric.time / 1000.0, 'unixepoch') AS time,
           run.id AS run
      FROM metric
      JOIN metric_name ON metric_name.id = metric.name
      JOIN run ON run.id = metric.run
      JOIN phase ON phase.id = run.phase;

CREATE VIEW v_verdict AS
    -- What gates and guards said.
    SELECT phase.workflow || '/' || phase.name || '#' || run.attempt AS address,
           verdict.kind, verdict.name, verdict.outcome, verdict.value, verdict.bounds,
           verdict.reason, datetime(verdict.time / 1000, 'unixepoch') AS time,
           run.id AS run
      FROM verdict
      JOIN run ON run.id = verdict.run
      JOIN phase ON phase.id = run.phase;

CREATE VIEW v_promotion AS
    -- Who or what let which phase start, and how.
    SELECT phase.workflow || '/' || phase.name AS address, next.name AS next,
           promotion.decided_by, promotion.who, promotion.way,
           datetime(promotion.time / 1000, 'unixepoch') AS time,
           promotion.phase, promotion.run
      FROM promotion
      JOIN phase ON phase.id = promotion.phase
      LEFT JOIN phase AS next ON next.id = promotion.next;

CREATE VIEW v_node AS
    -- Nodes that new jobs are kept away from now, why, and until when.
    SELECT health.node, health.cause,
           phase.workflow || '/' || phase.name || '#' || run.attempt AS address, health.message,
           datetime(health.since / 1000, 'unixepoch') AS since,
           datetime(health.until / 1000, 'unixepoch') AS until,
           health.count
      FROM node_health AS health
      LEFT JOIN run ON run.id = health.run
      LEFT JOIN phase ON phase.id = run.phase
     WHERE health.id IN (SELECT max(id) FROM node_health GROUP BY node)
       AND health.cleared IS NULL
       AND ifnull(health.until > CAST(strftime('%s') AS INTEGER) * 1000, 1);
