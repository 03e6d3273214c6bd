-- The record of phased: the history, and what the daemon itself needs after a restart.

CREATE TABLE event (
    -- The history. phased adds lines, and never changes them.
    id         INTEGER PRIMARY KEY AUTOINCREMENT, -- a number that always grows
    time       INTEGER NOT NULL,
    workflow   INTEGER NOT NULL REFERENCES workflow DEFERRABLE INITIALLY DEFERRED,
    phase      INTEGER REFERENCES phase DEFERRABLE INITIALLY DEFERRED, -- NULL: no phase is meant
    run        INTEGER REFERENCES run DEFERRABLE INITIALLY DEFERRED,   -- NULL: no run is meant
    type       TEXT NOT NULL CHECK (type IN ('workflow', 'phase', 'run', 'gate', 'promotion',
                   'guard', 'checkpoint', 'warning')),
    from_state TEXT,    -- the state before
    to_state   TEXT,    -- the state after
    message    TEXT,    -- why, for people
    result     TEXT CHECK (result IN ('passed', 'failed', 'insufficient', 'incomplete')), -- what a
                        -- gate found; NULL: the line is about something else
    step       INTEGER  -- the step of a checkpoint; NULL: the line is about something else
) STRICT;

CREATE INDEX event_workflow ON event (workflow);

-- The newest warning of a run is read without the whole history of the run's workflow.
CREATE INDEX event_warning ON event (run) WHERE type = 'warning';

CREATE TRIGGER event_stays BEFORE UPDATE ON event
BEGIN
    SELECT raise(ABORT, 'history is never changed');
END;

CREATE VIEW v_event AS
    -- The history, with addresses and readable times.
    SELECT event.id AS event,
           strftime('%Y-%m-%d %H:%M:%f', event.time / 1000.0, 'unixepoch') AS time,
           event.workflow || ifnull('/' || phase.name, '') || ifnull('#' || run.attempt, '')
               AS address,
           event.type, event.from_state, event.to_state, event.result, event.step, event.message
      FROM event
      LEFT JOIN run ON run.id = event.run
      LEFT JOIN phase ON phase.id = ifnull(event.phase, run.phase);

CREATE TABLE notice (
    -- What phased has to tell somebody, and whether it did. Triggers write a notice together with
    -- the row that the notice is about. So a notice stays pending when the daemon is killed.
    id       INTEGER PRIMARY KEY,
    workflow INTEGER NOT NULL REFERENCES workflow DEFERRABLE INITIALLY DEFERRED, -- the workflow
                               -- whose `notify`, or whose phase's `notify`, asks for the notice
    phase    INTEGER REFERENCES phase DEFERRABLE INITIALLY DEFERRED, -- the phase that the notice is
                               -- about; NULL: the notice is about the workflow
    kind     TEXT NOT NULL CHECK (kind IN ('held', 'failed', 'succeeded', 'budget')),
    way      TEXT NOT NULL CHECK (way IN ('command', 'webhook')),
    own      INTEGER NOT NULL DEFAULT 0, -- 1: the phase's own `notify` asks for the notice
    message  TEXT NOT NULL,    -- why, for people. At the end of a workflow: the phase that failed,
                               -- which is not a member of a matrix, and why the phase failed
    time     INTEGER NOT NULL, -- when the thing happened
    tries    INTEGER NOT NULL DEFAULT 0, -- how many tries failed
    due      INTEGER NOT NULL, -- the notice is not sent before this time, unless the clock was set
                               -- back
    done     INTEGER           -- when the notice was sent, or given up; NULL: not yet
) STRICT;

CREATE INDEX notice_due ON notice (due) WHERE done IS NULL;

-- A phase is held, or most of a budget is spent: what `notify` of the workflow asks for.
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
       AND NOT EXISTS (SELECT 1 FROM notice AS same -- phases that a person or budget holds together
                        WHERE (NEW.to_state = 'budget'
                               OR (SELECT hold FROM phase WHERE phase.id = NEW.phase) = 'user')
                          AND same.done IS NULL AND same.workflow = NEW.workflow AND NOT same.own
                          AND same.kind = NEW.to_state AND same.way = way.column1
                          AND same.message = NEW.message AND same.time > NEW.time - 10000)
       AND json_extract(workflow.resolved, '$.notify.' || way.column1) IS NOT NULL;
END;

-- What `notify` of a phase asks for. A member of a matrix tells only that it waits for a person:
-- the matrix tells the rest.
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

-- A workflow ends: what `notify` of the workflow asks for. A member of a matrix that failed does
-- not make the workflow fail, so the message names no member.
CREATE TRIGGER notice_ended AFTER UPDATE OF ended ON workflow
    WHEN OLD.ended IS NULL AND NEW.ended IS NOT NULL
BEGIN
    INSERT INTO notice (workflow, kind, way, message, time, due)
    SELECT NEW.id, wanted.value, way.column1,
           ifnull((SELECT phase.name || ': ' || phase.reason FROM phase
                    WHERE phase.workflow = NEW.id AND phase.state = 'failed'
                      AND NOT EXISTS (SELECT 1 FROM member WHERE member.phase = phase.id)
                    ORDER BY phase.position LIMIT 1), ''),
           NEW.ended, NEW.ended
      FROM v_workflow,
           json_each(NEW.resolved, '$.notify.on') AS wanted,
           (VALUES ('command'), ('webhook')) AS way
     WHERE v_workflow.workflow = NEW.id AND wanted.value = v_workflow.state
       AND json_extract(NEW.resolved, '$.notify.' || way.column1) IS NOT NULL;
END;

CREATE TABLE outbox (
    -- The pending effects: what the daemon has decided to do, and does not yet know to be done.
    id       INTEGER PRIMARY KEY AUTOINCREMENT, -- in the order of the decisions
    kind     TEXT NOT NULL CHECK (kind IN ('submit', 'lookup', 'cancel-job', 'begin-job',
                 'read-outcome', 'seal', 'judge', 'remedy', 'tell-stop', 'tell-next', 'tell-end')),
    target   INTEGER NOT NULL, -- the id of the job, run or phase that the effect is about
    workflow INTEGER NOT NULL REFERENCES workflow DEFERRABLE INITIALLY DEFERRED,
    phase    INTEGER REFERENCES phase DEFERRABLE INITIALLY DEFERRED,
    run      INTEGER REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    job      INTEGER REFERENCES job DEFERRABLE INITIALLY DEFERRED,
    due      INTEGER,          -- the effect waits until this time; NULL: at once
    UNIQUE (kind, target)
) STRICT;

CREATE INDEX outbox_workflow ON outbox (workflow);

CREATE TABLE journal (
    -- How much of the journal that a node keeps of a run is in this record.
    run      INTEGER NOT NULL REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    node     TEXT NOT NULL,    -- the name of the node, or: lead
    sequence INTEGER NOT NULL, -- the sequence number of the last entry in the record
    PRIMARY KEY (run, node)
) STRICT, WITHOUT ROWID;

CREATE TABLE journal_gap (
    -- Entries of a node's journal that were lost before they came into this record.
    run        INTEGER NOT NULL REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    node       TEXT NOT NULL,    -- the name of the node, or: lead
    first_seq  INTEGER NOT NULL, -- the sequence number of the first missing entry
    last_seq   INTEGER NOT NULL, -- the sequence number of the last missing entry
    after_step INTEGER,          -- the greatest step that the run had reported before the gap. The
                                 -- missing entries are about this step or later steps. NULL: no
                                 -- step, or the step was not noted
    PRIMARY KEY (run, node, first_seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE lease (
    -- The daemon that opened the record last. Only this daemon may write. A daemon that starts
    -- replaces the row. A daemon that finds the row of another daemon stops. The table has one row.
    id      INTEGER PRIMARY KEY CHECK (id = 1),
    owner   TEXT NOT NULL,           -- a random value, new at each start of a daemon
    pid     INTEGER NOT NULL,        -- the process of the daemon
    host    TEXT NOT NULL,           -- the machine of the daemon
    since   INTEGER NOT NULL,        -- when the daemon was started
    cluster TEXT NOT NULL DEFAULT '' -- the cluster of Slurm that has the jobs of this record;
                                     -- empty: not known yet
) STRICT;

CREATE TABLE migration (
    -- The migrations that lead to the schema of this file. A phased refuses the file if it has
    -- another migration with the same number.
    version INTEGER PRIMARY KEY, -- the number of the migration
    name    TEXT NOT NULL,       -- the name of the migration
    digest  TEXT NOT NULL        -- a digest of the text of the migration
) STRICT;
