-- The record of phased: workflows and their phases. schema/README.md lists the files of the record.
--
-- Unless a comment says more: times are milliseconds since 1970 (UTC), and the views show times as
-- text. A column with the name of a table has the id of a row of that table. NULL stands for no
-- text, no time and no object. In a column that asks a question, 1 means yes and 0 means no.

CREATE TABLE workflow (
    -- One submitted workflow file.
    id          INTEGER PRIMARY KEY, -- the 7 of 7/validate#2
    name        TEXT NOT NULL,       -- the name that the file gives the workflow
    submitted   INTEGER NOT NULL,    -- when the workflow was submitted
    ended       INTEGER,             -- when the workflow ended; NULL: a phase may still go on
    key         TEXT UNIQUE,         -- the client's key: a repeated submission is known by the key
    file        TEXT NOT NULL,       -- the name of the file, as the client gave it
    workdir     TEXT NOT NULL,       -- the folder in which submit was called
    host        TEXT,                -- the machine on which submit was called
    umask       INTEGER NOT NULL,    -- the umask of submit
    limits      TEXT NOT NULL,       -- the resource limits of submit, as JSON: ["NOFILE=1024"]
    overrides   TEXT,                -- the params that --set gave, as JSON; NULL: no params
    resolved    TEXT NOT NULL,       -- the resolved file without its phases, as JSON
    environment TEXT NOT NULL,       -- the environment of submit, as JSON, without secret values
    spec        TEXT NOT NULL,       -- the text of the file
    priority    INTEGER NOT NULL DEFAULT 0,    -- jobs with a higher priority are submitted earlier
    after       INTEGER REFERENCES workflow,   -- the workflow that must have succeeded first; NULL:
                                               -- the workflow waits for no other workflow
    window_from INTEGER NOT NULL DEFAULT 0,    -- jobs are submitted from this minute of the day on,
                                               -- in local time
    window_to   INTEGER NOT NULL DEFAULT 0,    -- jobs are submitted until this minute of the day;
                                               -- equal to window_from: at any time
    budget      TEXT,                          -- the budget that a person gave instead of the
                                               -- budget of the file, as JSON: {"usd": 700}; NULL: a
                                               -- person gave no budget
    budget_told INTEGER NOT NULL DEFAULT 0,    -- 1: the warning that most of the budget is spent
                                               -- was given
    -- What a search looks in, in small letters: number, name, file, variants, and what --set gave.
    words       TEXT GENERATED ALWAYS AS
        (lower(id || ' ' || name || ' ' || file || ' '
               || ifnull(json_extract(resolved, '$.variants'), '') || ' '
               || ifnull(replace(replace(overrides, '":', '='), '"', ''), ''))) VIRTUAL
) STRICT;

-- A search looks through all workflows. The rows of workflows are large, so the index has all that
-- a search needs.
CREATE INDEX workflow_ended ON workflow (ended, id, words);

CREATE VIEW v_workflow AS
    -- Workflows, with the state that follows from the states of their phases. A member that has
    -- failed or was cancelled does not count: the state of its matrix does.
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

CREATE TABLE provenance (
    -- The code of a workflow, as it was at its submission.
    workflow  INTEGER PRIMARY KEY REFERENCES workflow DEFERRABLE INITIALLY DEFERRED,
    root      TEXT, -- the git repository in which submit was called; NULL: no repository, or see
                    -- diff_note
    commit_id TEXT, -- the commit that was checked out; NULL: no repository, or see diff_note
    branch    TEXT, -- the branch that was checked out; NULL: no branch
    diff      TEXT, -- the changes since the commit, for git apply; NULL: see diff_note
    diff_note TEXT, -- why the row has no diff, or no commit
    untracked TEXT, -- files that git does not know and does not ignore, one name on each line
    packages  TEXT, -- the packages of the active Python environment, one name==version on each line
    snapshot  TEXT  -- the folder of the copy that runs use; NULL: the file asks for no copy
) STRICT;

CREATE TABLE month (
    -- What all workflows together may spend in a month.
    month  TEXT PRIMARY KEY, -- the month in local time, such as 2026-11
    budget TEXT,             -- the budget of the last limits.yaml without a mistake, as JSON; NULL:
                             -- no budget
    told   INTEGER NOT NULL  -- 1: the warning that most of the budget is spent was given
) STRICT;

CREATE TABLE phase (
    -- A phase of a workflow: its state, and the parts of its spec by which the daemon decides.
    id              INTEGER PRIMARY KEY,
    workflow        INTEGER NOT NULL REFERENCES workflow DEFERRABLE INITIALLY DEFERRED,
    position        INTEGER NOT NULL, -- the place in the workflow, from 0; each phase comes after
                                      -- the phases for which it waits
    name            TEXT NOT NULL,
    state           TEXT NOT NULL CHECK (state IN ('blocked', 'queued', 'active', 'deciding',
                        'held', 'succeeded', 'failed', 'cancelled', 'skipped')),
    hold            TEXT CHECK (hold IN ('user', 'manual', 'gate', 'failure', 'progress')),
                                      -- what a held phase waits for a person about; `user` in a
                                      -- skipped phase: it is held again if it waits again; NULL: no
                                      -- hold
    reason          TEXT,             -- why the phase is in this state, for people
    overridden      INTEGER NOT NULL, -- 1: a person promoted the phase against its gate
    checkpoint_path TEXT,             -- the newest whole checkpoint of any of the phase's runs that
                                      -- is not suspect; NULL: no checkpoint
    checkpoint_step INTEGER NOT NULL, -- the step of this checkpoint
    attempts        INTEGER NOT NULL, -- the number of runs so far
    failures        TEXT NOT NULL,    -- the number of failures by cause, as JSON: {"hang": 1};
                                      -- failures, losses and stalls count from the last command of
                                      -- a person
    losses          INTEGER NOT NULL, -- the number of lost runs
    stalls          INTEGER NOT NULL, -- the number of runs in a row that saved no newer checkpoint
                                      -- and made no new step. A preempted run of a phase that has
                                      -- no `checkpoint` and never told a step does not count
    promote         TEXT NOT NULL CHECK (promote IN ('auto', 'manual')), -- manual: a person
                                      -- starts the next phases
    on_fail         TEXT NOT NULL CHECK (on_fail IN ('hold', 'fail')), -- hold: a person is asked
                                      -- after a failure; fail: the phase gives up
    has_checkpoint  INTEGER NOT NULL, -- 1: the spec says where checkpoints are
    nodes           INTEGER NOT NULL, -- the requested number of nodes
    gpus_per_node   INTEGER NOT NULL, -- the requested number of GPUs on each node
    cpus_per_node   INTEGER NOT NULL, -- the requested number of CPUs on each node; 0: no request
    gpu_type        TEXT,             -- the requested type of GPU; NULL: any type
    time_s          INTEGER NOT NULL, -- the time limit of one run, in seconds
    stop_s          INTEGER NOT NULL, -- how long the program may take to stop, in seconds
    linger_s        INTEGER NOT NULL, -- how long the job keeps its nodes for the next phase, in
                                      -- seconds
    slurm_options   TEXT,             -- options of sbatch, as JSON; NULL: no options
    total           REAL,             -- the number of steps that the phase will take; NULL: unknown
    usd_per_node_hour REAL,           -- the price of a node hour, in US dollars; NULL: the price
                                      -- goes by GPUs, or is unknown
    usd_per_gpu_hour  REAL,           -- the price of a GPU hour, in US dollars; NULL: the price
                                      -- goes by nodes, or is unknown. With `alternatives`: the
                                      -- price of the most expensive type. It counts for jobs that
                                      -- name no type
    spec            TEXT NOT NULL,    -- the resolved phase, as JSON
    remedies        TEXT,             -- the remedies, how often each may be tried, and how often
                                      -- each was tried: [{"cause": "oom", "times": 2, "used": 1,
                                      -- "resume": "checkpoint"}]; NULL: no remedies
    remedy          INTEGER,          -- the place in `remedies`, from 0, of the remedy that phased
                                      -- is working out; NULL: no remedy
    beside          INTEGER REFERENCES phase, -- the phase whose allocations this phase shares;
                                      -- NULL: the phase has allocations of its own
    anew            INTEGER NOT NULL DEFAULT 0, -- 1: the next run begins from the start, and shards
                                      -- that were done before do not count
    alternatives    TEXT,             -- the types of GPU from which Slurm may choose: h200,h100;
                                      -- NULL: Slurm has no choice
    rung            INTEGER NOT NULL DEFAULT 0, -- from 0: for a matrix, the current rung; for a
                                      -- member, the rung that the member may reach
    hold_budget     TEXT CHECK (hold_budget IN ('workflow', 'month')), -- the budget that holds the
                                      -- phase, or stops its run; NULL: no budget holds the phase
    hold_amount     TEXT CHECK (hold_amount IN ('usd', 'gpu_hours', 'hours')), -- the unit in
                                      -- which too much of this budget is spent
    chosen          INTEGER NOT NULL DEFAULT 0, -- 1: a person chose the checkpoint of
                                      -- checkpoint_path, which may be suspect. 0 again when a run
                                      -- has begun from the checkpoint
    UNIQUE (workflow, position),
    UNIQUE (workflow, name)
) STRICT;

-- Phases that wait for a person.
CREATE INDEX phase_held ON phase (workflow) WHERE state = 'held';

-- A workflow that is over has failed if one of its phases has failed.
CREATE INDEX phase_failed ON phase (workflow, state) WHERE state IN ('failed', 'cancelled');

-- `plan` looks for phases that are similar to a planned phase.
CREATE INDEX phase_similar ON phase (name) WHERE state = 'succeeded';

CREATE VIEW v_phase AS
    -- Phases, with their addresses, their newest run and their cost so far.
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

CREATE TABLE edge (
    -- A phase waits for a phase before it.
    phase    INTEGER NOT NULL REFERENCES phase DEFERRABLE INITIALLY DEFERRED, -- the waiting phase
    position INTEGER NOT NULL, -- the place in the list of the spec, from 0
    after    INTEGER NOT NULL REFERENCES phase DEFERRABLE INITIALLY DEFERRED, -- the phase before
    PRIMARY KEY (phase, position)
) STRICT, WITHOUT ROWID;

CREATE INDEX edge_after ON edge (after);

CREATE TABLE matrix (
    -- A phase that runs as many phases, its members.
    phase    INTEGER PRIMARY KEY REFERENCES phase DEFERRABLE INITIALLY DEFERRED,
    lanes    INTEGER NOT NULL, -- how many members run at once; 0: all members, each in its own job
    parallel INTEGER NOT NULL, -- 1: the members run in one job, each with a part of the GPUs
    rungs    INTEGER NOT NULL, -- the number of rungs, each with fewer members; 1: members run once
    best     INTEGER REFERENCES phase DEFERRABLE INITIALLY DEFERRED -- the best member. NULL: the
                               -- best member is not known yet
) STRICT;

CREATE TABLE member (
    -- A phase of a matrix, and what the matrix found about this phase.
    phase       INTEGER PRIMARY KEY REFERENCES phase DEFERRABLE INITIALLY DEFERRED,
    matrix      INTEGER NOT NULL REFERENCES phase DEFERRABLE INITIALLY DEFERRED, -- the phase that
                                  -- is the matrix
    number      INTEGER NOT NULL, -- the number of the member, from 1; the 3 of ladder.3
    params      TEXT NOT NULL,    -- the params that differ between members, as JSON:
                                  -- {"BATCH_SIZE": 64}
    value       REAL,             -- the member's value for `best`; NULL: unknown
    standing    TEXT CHECK (standing IN ('best', 'left', 'cut', 'out')), -- cut: the member did not
                                  -- go on to the next rung; NULL: the member is not judged
    reason      TEXT,             -- why the member is out, for people
    fingerprint TEXT,             -- a fingerprint of the member's spec, the folder and the code;
                                  -- NULL: the code is not known
    reused      INTEGER REFERENCES phase DEFERRABLE INITIALLY DEFERRED, -- the equal member of an
                                  -- earlier workflow whose results this member has taken; NULL:
                                  -- this member runs itself
    reused_rung INTEGER NOT NULL, -- the last rung of the taken results, from 0; the member runs
                                  -- later rungs itself
    UNIQUE (matrix, number)
) STRICT;

CREATE INDEX member_fingerprint ON member (fingerprint);

CREATE VIEW v_member AS
    -- The members of matrices, with addresses.
    SELECT phase.workflow || '/' || phase.name AS address, matrix.name AS matrix, member.number,
           member.params, phase.state, member.value, member.standing, member.reason, member.phase
      FROM member
      JOIN phase ON phase.id = member.phase
      JOIN phase AS matrix ON matrix.id = member.matrix;

CREATE TABLE choice (
    -- Params that a decision of a matrix has changed: the params of the matrix, or of a member that
    -- went on to the next rung.
    id      INTEGER PRIMARY KEY,
    phase   INTEGER NOT NULL REFERENCES phase DEFERRABLE INITIALLY DEFERRED, -- the phase whose
                              -- params changed
    changes TEXT NOT NULL,    -- [{"param": "BATCH_SIZE", "from": 64, "to": 128}]
    time    INTEGER NOT NULL  -- when the matrix decided; later than the changes before, even if the
                              -- clock was set back
) STRICT;

CREATE INDEX choice_phase ON choice (phase);
