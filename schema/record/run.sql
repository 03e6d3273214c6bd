-- The record of phased: jobs of Slurm, and the runs in them.

CREATE TABLE seat (
    -- One place in a job, with a folder of its own. Runs take a seat one after another: a run that
    -- goes on in place takes the seat of the run before. Phases that run side by side have a seat
    -- each in one job.
    id       INTEGER PRIMARY KEY,
    workflow INTEGER NOT NULL REFERENCES workflow DEFERRABLE INITIALLY DEFERRED,
    token    TEXT NOT NULL UNIQUE, -- the folder of the seat is phased-TOKEN. The token is the token
                                   -- of the first job that was submitted for the seat. A seat that
                                   -- joined a job has a token of its own
    slot     INTEGER NOT NULL      -- for members of a matrix side by side: the part of the job's
                                   -- GPUs that the seat has, from 0
) STRICT;

CREATE INDEX seat_workflow ON seat (workflow);

CREATE TABLE job (
    -- A job of Slurm, from the intent to submit it. Runs take the seats of a job one after another.
    id            INTEGER PRIMARY KEY,
    workflow      INTEGER NOT NULL REFERENCES workflow DEFERRABLE INITIALLY DEFERRED,
    token         TEXT NOT NULL UNIQUE, -- the token in the comment of the job: phased finds the job
                                        -- by the token
    seat          INTEGER NOT NULL REFERENCES seat DEFERRABLE INITIALLY DEFERRED, -- the seat for
                                        -- which the job is submitted. Several jobs may be submitted
                                        -- for one seat; the first job that starts serves the seat
    gpu_type      TEXT,                 -- the requested type of GPU; NULL: the type of the phase
    usd_per_gpu_hour REAL,              -- the price of an hour of a GPU of gpu_type, in US dollars;
                                        -- NULL: the price is unknown, or gpu_type is NULL and the
                                        -- price of the phase counts
    slurm_id      INTEGER,              -- the number of the job in Slurm; NULL: the job is not
                                        -- known to exist
    state         TEXT,                 -- the state in Slurm, in small letters
    reason        TEXT,                 -- why the job waits, in the words of Slurm
    nodes         TEXT,                 -- the nodes, as Slurm abbreviates them: n[1-4]
    node_count    INTEGER NOT NULL,     -- the requested number of nodes
    gpus_per_node INTEGER NOT NULL,     -- the requested number of GPUs on each node
    time_s        INTEGER NOT NULL,     -- the time limit in seconds: as requested, later as Slurm
                                        -- says
    over          INTEGER NOT NULL,     -- 1: Slurm says that the job is over, or the job was absent
                                        -- too long
    restarts      INTEGER NOT NULL,     -- how often Slurm has requeued the job
    submitted     INTEGER,              -- when the job was submitted
    started       INTEGER,              -- when the job started
    ended         INTEGER,              -- when the job ended
    absent_since  INTEGER               -- since when Slurm answers and does not know the job; NULL:
                                        -- Slurm knows the job
) STRICT;

CREATE INDEX job_workflow ON job (workflow);

CREATE TABLE run (
    -- One attempt at a phase.
    id           INTEGER PRIMARY KEY,
    phase        INTEGER NOT NULL REFERENCES phase DEFERRABLE INITIALLY DEFERRED,
    attempt      INTEGER NOT NULL, -- the 2 of 7/validate#2
    state        TEXT NOT NULL CHECK (state IN ('submitting', 'pending', 'starting', 'running',
                     'stopping', 'ended')),
    outcome      TEXT CHECK (outcome IN ('succeeded', 'failed', 'preempted', 'timed_out',
                     'cancelled', 'lost')), -- how the run ended; NULL: the run has not ended
    cause        TEXT CHECK (cause IN ('exit', 'oom', 'nan', 'guard', 'hang', 'preflight',
                     'node_fail', 'launch')), -- why the run failed; NULL: the run has not failed
    message      TEXT,             -- how the run ended, for people
    job          INTEGER NOT NULL REFERENCES job DEFERRABLE INITIALLY DEFERRED,
    in_place     INTEGER NOT NULL, -- 1: the run went on in the seat of the run before
    begun        INTEGER NOT NULL, -- 1: the run's lead has reported, or the journals show
                                   -- that the run succeeded
    wish         TEXT CHECK (wish IN ('cancel', 'hold')), -- why the run was told to stop; NULL: the
                                   -- run was not told to stop
    resume_path  TEXT,             -- the checkpoint from which the run starts; NULL: from the start
    resume_step  INTEGER NOT NULL, -- the step of this checkpoint; -1: no step
    last_step    INTEGER NOT NULL, -- the highest step that the run reported; -1: no step. For
                                   -- groups that print no steps: the number of shards that were
                                   -- done when the run ended, also by earlier runs
    exit_code    INTEGER NOT NULL, -- the exit code of the first rank that failed
    signal       INTEGER NOT NULL, -- the signal that killed this rank; 0: no signal
    submitted    INTEGER,          -- when phased decided on the run
    started      INTEGER,          -- when the first rank was executed
    ended        INTEGER,          -- when the last rank was gone. If Slurm has requeued the job and
                                   -- the run has not told its end: when phased saw the requeue
    silent_since INTEGER,          -- when phased began to look for the outcome of the run, because
                                   -- the run's job was over, and the run had not said how it ended
    told         INTEGER,          -- when the run was last told to stop or to go on, or its lead
                                   -- reported that the run stops
    secret       TEXT,             -- the key of the messages of the run's workers
    nodes        TEXT,             -- the nodes on which the run ran, as the run's lead reported
                                   -- them: n1,n2. The nodes of the run's job may differ
    gpu          TEXT,             -- the model of the GPU, as the driver or otherwise Slurm names
                                   -- it; NULL: unknown, or the phase has no `by_gpu`
    by_gpu       TEXT,             -- the entry of `by_gpu` that was used, as written: h100; NULL:
                                   -- no entry
    rung         INTEGER NOT NULL DEFAULT 0, -- the rung of the phase when the run began, from 0
    suspect_step INTEGER,          -- checkpoints that the run saved at this step or later are
                                   -- suspect, because a guard failed or NaN came; NULL: neither
    begin_step   INTEGER,          -- the first step that the run reported; -1: no step. NULL: the
                                   -- run began before this was recorded
    seat         INTEGER REFERENCES seat,
    suspected    INTEGER,          -- when the worker reported suspect_step, by the worker's clock.
                                   -- A checkpoint that nobody reported is good only if it was
                                   -- written before this time. NULL: nothing is suspect, or the
                                   -- time is unknown
    stop_reason  TEXT CHECK (stop_reason IN ('preempted', 'timed_out', 'cancelled', 'held', 'over',
                     'until', 'guard', 'nan', 'hang', 'exit', 'preflight', 'launch')),
                                   -- why the run's lead stopped the run; NULL: the lead did not
                                   -- stop the run, or somebody else stopped the run first
    job_started  INTEGER,          -- when the job had started when the run was in the job. If this
                                   -- is before the start of the job, Slurm has requeued the job
                                   -- since then. NULL: the run was not in the job, or ended before
                                   -- this was recorded
    UNIQUE (phase, attempt)
) STRICT;

CREATE INDEX run_job ON run (job);
CREATE INDEX run_seat ON run (seat);

CREATE VIEW v_run AS
    -- Runs, with their addresses and their cost so far. Each member of a matrix that runs side by
    -- side with others pays for its part of the allocation. If other runs share an allocation, the
    -- run with the lowest id pays for the time that they share. `paid_seconds` is the time of the
    -- whole allocation that a run pays for.
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
                   -- The time that the run shares with runs of lower ids. These runs are read in
                   -- the order of their starts, and each counts from the end of all runs before it.
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

CREATE TABLE checkpoint (
    -- A whole checkpoint that a run has written.
    run     INTEGER NOT NULL REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    path    TEXT NOT NULL,
    step    INTEGER NOT NULL,
    bytes   INTEGER,          -- the size of all files of the checkpoint; NULL: unknown
    paths   TEXT,             -- all files of the checkpoint, as JSON; NULL: `path` is all of it
    time    INTEGER NOT NULL, -- when the checkpoint was reported
    suspect INTEGER NOT NULL DEFAULT 0, -- 1: the checkpoint was saved at or after the step at which
                              -- a guard failed or NaN came; only a person resumes from the
                              -- checkpoint
    unseen  INTEGER NOT NULL DEFAULT 0, -- 1: nobody saw the checkpoint become whole. phased found
                              -- the checkpoint when the run was over, or the checkpoint had become
                              -- smaller during the run. If a program fails on the checkpoint, no
                              -- other run tries the checkpoint
    PRIMARY KEY (run, path)
) STRICT, WITHOUT ROWID;

CREATE TABLE failure (
    -- The recognised reason of a failure, from a line that the run printed.
    run    INTEGER PRIMARY KEY REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    name   TEXT NOT NULL, -- the name of the entry in the catalogue: cuda_oom
    cause  TEXT NOT NULL, -- the cause of the run's failure, which follows from the entry
    line   TEXT NOT NULL, -- the line as the run printed it, shortened
    rank   INTEGER,       -- the rank that printed the line; NULL: unknown
    node   TEXT,          -- the node of this rank; NULL: unknown
    advice TEXT,          -- what a person can do
    blame  TEXT NOT NULL CHECK (blame IN ('none', 'node', 'code')) -- what is to blame
) STRICT;

CREATE INDEX failure_name ON failure (name);

CREATE VIEW v_failure AS
    -- The recognised reasons of failed runs.
    SELECT phase.workflow || '/' || phase.name || '#' || run.attempt AS address,
           failure.name, failure.cause, failure.blame, failure.rank, failure.node, failure.line,
           datetime(run.ended / 1000, 'unixepoch') AS ended,
           run.id AS run
      FROM failure
      JOIN run ON run.id = failure.run
      JOIN phase ON phase.id = run.phase;

CREATE TABLE evidence (
    -- What a node found out about a run that seemed to hang, before the run was stopped.
    run      INTEGER NOT NULL REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    node     TEXT NOT NULL,
    time     INTEGER NOT NULL,
    silent   REAL,             -- seconds without a sign of life on this node; NULL: unknown
    summary  TEXT,             -- the most telling part of the evidence, for people
    evidence TEXT NOT NULL,    -- the whole evidence, as JSON
    PRIMARY KEY (run, node)
) STRICT, WITHOUT ROWID;

CREATE TABLE remedy (
    -- A change of params between two runs of a phase. All later attempts have these params.
    id      INTEGER PRIMARY KEY,
    run     INTEGER NOT NULL UNIQUE REFERENCES run DEFERRABLE INITIALLY DEFERRED, -- the run that
                              -- failed, or whose gate failed
    cause   TEXT NOT NULL,    -- the cause of the failure, or the name of the guard or of the gate's
                              -- check
    number  INTEGER NOT NULL, -- the 1 of "1 of 2": which of the phase's remedies for this cause
    times   INTEGER NOT NULL, -- the 2 of "1 of 2"
    resume  TEXT NOT NULL CHECK (resume IN ('checkpoint', 'start', 'previous')), -- from where the
                              -- next run went on
    changes TEXT NOT NULL,    -- [{"param": "micro_batch", "from": 32, "to": 16}]
    time    INTEGER NOT NULL  -- when phased decided on the remedy; later than the changes before,
                              -- even if the clock was set back
) STRICT;

CREATE VIEW v_remedy AS
    -- Which failure was answered by which change of params.
    SELECT phase.workflow || '/' || phase.name || '#' || run.attempt AS address,
           remedy.cause, remedy.number, remedy.times, remedy.resume, remedy.changes,
           datetime(remedy.time / 1000, 'unixepoch') AS time,
           run.id AS run
      FROM remedy
      JOIN run ON run.id = remedy.run
      JOIN phase ON phase.id = run.phase;
