-- A record of schema 11, as an earlier phased made it: all of its schema, without comments, and the
-- digests of its migrations. This file is never changed.
CREATE TABLE workflow (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    submitted INTEGER NOT NULL,
    ended INTEGER,
    key TEXT UNIQUE,
    file TEXT NOT NULL,
    workdir TEXT NOT NULL,
    host TEXT,
    umask INTEGER NOT NULL,
    limits TEXT NOT NULL,
    overrides TEXT,
    resolved TEXT NOT NULL,
    environment TEXT NOT NULL,
    spec TEXT NOT NULL, priority INTEGER NOT NULL DEFAULT 0, after INTEGER REFERENCES workflow,
        window_from INTEGER NOT NULL DEFAULT 0, window_to INTEGER NOT NULL DEFAULT 0, budget TEXT,
        budget_told INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE INDEX workflow_ended ON workflow (ended);
CREATE TABLE phase (
    id INTEGER PRIMARY KEY,
    workflow INTEGER NOT NULL REFERENCES workflow DEFERRABLE INITIALLY DEFERRED,
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('blocked', 'queued', 'active', 'deciding',
    'held', 'succeeded', 'failed', 'cancelled', 'skipped')),
    hold TEXT CHECK (hold IN ('user', 'manual', 'gate', 'failure', 'progress')),
    reason TEXT,
    overridden INTEGER NOT NULL,
    checkpoint_path TEXT,
    checkpoint_step INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    failures TEXT NOT NULL,
    losses INTEGER NOT NULL,
    stalls INTEGER NOT NULL,
    promote TEXT NOT NULL CHECK (promote IN ('auto', 'manual')),
    on_fail TEXT NOT NULL CHECK (on_fail IN ('hold', 'fail')),
    has_checkpoint INTEGER NOT NULL,
    nodes INTEGER NOT NULL,
    gpus_per_node INTEGER NOT NULL,
    cpus_per_node INTEGER NOT NULL,
    gpu_type TEXT,
    time_s INTEGER NOT NULL,
    stop_s INTEGER NOT NULL,
    linger_s INTEGER NOT NULL,
    slurm_options TEXT,
    total REAL,
    usd_per_node_hour REAL,
    usd_per_gpu_hour REAL,
    spec TEXT NOT NULL, remedies TEXT, remedy INTEGER, beside INTEGER REFERENCES phase, anew
        INTEGER NOT NULL DEFAULT 0, alternatives TEXT, rung INTEGER NOT NULL DEFAULT 0,
    UNIQUE (workflow, position),
    UNIQUE (workflow, name)
) STRICT;
CREATE INDEX phase_held ON phase (workflow) WHERE state = 'held';
CREATE TABLE edge (
    phase INTEGER NOT NULL REFERENCES phase DEFERRABLE INITIALLY DEFERRED,
    position INTEGER NOT NULL,
    after INTEGER NOT NULL REFERENCES phase DEFERRABLE INITIALLY DEFERRED,
    PRIMARY KEY (phase, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX edge_after ON edge (after);
CREATE TABLE job (
    id INTEGER PRIMARY KEY,
    workflow INTEGER NOT NULL REFERENCES workflow DEFERRABLE INITIALLY DEFERRED,
    token TEXT NOT NULL UNIQUE,
    slurm_id INTEGER,
    state TEXT,
    reason TEXT,
    nodes TEXT,
    node_count INTEGER NOT NULL,
    gpus_per_node INTEGER NOT NULL,
    time_s INTEGER NOT NULL,
    over INTEGER NOT NULL,
    restarts INTEGER NOT NULL,
    submitted INTEGER,
    started INTEGER,
    ended INTEGER,
    absent_since INTEGER, host INTEGER REFERENCES job, first INTEGER REFERENCES job, gpu_type
        TEXT, usd_per_gpu_hour REAL, slot INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE INDEX job_workflow ON job (workflow);
CREATE TABLE run (
    id INTEGER PRIMARY KEY,
    phase INTEGER NOT NULL REFERENCES phase DEFERRABLE INITIALLY DEFERRED,
    attempt INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('submitting', 'pending', 'starting', 'running',
    'stopping', 'ended')),
    outcome TEXT CHECK (outcome IN ('succeeded', 'failed', 'preempted', 'timed_out',
    'cancelled', 'lost')),
    cause TEXT CHECK (cause IN ('exit', 'oom', 'nan', 'guard', 'hang', 'preflight',
    'node_fail', 'launch')),
    message TEXT,
    job INTEGER NOT NULL REFERENCES job DEFERRABLE INITIALLY DEFERRED,
    in_place INTEGER NOT NULL,
    begun INTEGER NOT NULL,
    wish TEXT CHECK (wish IN ('cancel', 'hold')),
    resume_path TEXT,
    resume_step INTEGER NOT NULL,
    last_step INTEGER NOT NULL,
    exit_code INTEGER NOT NULL,
    signal INTEGER NOT NULL,
    submitted INTEGER,
    started INTEGER,
    ended INTEGER,
    silent_since INTEGER,
    told INTEGER,
    secret TEXT,
    nodes TEXT, gpu TEXT, by_gpu TEXT, rung INTEGER NOT NULL DEFAULT 0, suspect_step INTEGER,
        begin_step INTEGER,
    UNIQUE (phase, attempt)
) STRICT;
CREATE INDEX run_job ON run (job);
CREATE TABLE event (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    time INTEGER NOT NULL,
    workflow INTEGER NOT NULL REFERENCES workflow DEFERRABLE INITIALLY DEFERRED,
    phase INTEGER REFERENCES phase DEFERRABLE INITIALLY DEFERRED,
    run INTEGER REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    type TEXT NOT NULL CHECK (type IN ('workflow', 'phase', 'run', 'gate', 'promotion',
    'guard', 'checkpoint', 'warning')),
    from_state TEXT,
    to_state TEXT,
    message TEXT
) STRICT;
CREATE INDEX event_workflow ON event (workflow);
CREATE TRIGGER event_stays BEFORE UPDATE ON event BEGIN SELECT raise(ABORT,
    'history is never changed'); END;
CREATE TABLE metric_name (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;
CREATE TABLE metric (
    run INTEGER NOT NULL REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    name INTEGER NOT NULL REFERENCES metric_name DEFERRABLE INITIALLY DEFERRED,
    step INTEGER NOT NULL,
    value REAL,
    time INTEGER NOT NULL,
    PRIMARY KEY (run, name, step)
) STRICT, WITHOUT ROWID;
CREATE TABLE checkpoint (
    run INTEGER NOT NULL REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    path TEXT NOT NULL,
    step INTEGER NOT NULL,
    bytes INTEGER,
    paths TEXT,
    time INTEGER NOT NULL, suspect INTEGER NOT NULL DEFAULT 0, unseen INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (run, path)
) STRICT, WITHOUT ROWID;
CREATE TABLE verdict (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    kind TEXT NOT NULL CHECK (kind IN ('gate', 'guard')),
    time INTEGER NOT NULL,
    name TEXT NOT NULL,
    outcome TEXT NOT NULL CHECK (outcome IN ('passed', 'failed', 'insufficient', 'error')),
    warn INTEGER NOT NULL,
    value REAL,
    bounds TEXT,
    reason TEXT,
    verdict TEXT NOT NULL
) STRICT;
CREATE INDEX verdict_run ON verdict (run, kind);
CREATE TABLE promotion (
    id INTEGER PRIMARY KEY,
    phase INTEGER NOT NULL REFERENCES phase DEFERRABLE INITIALLY DEFERRED,
    next INTEGER NOT NULL REFERENCES phase DEFERRABLE INITIALLY DEFERRED,
    run INTEGER REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    decided_by TEXT NOT NULL CHECK (decided_by IN ('gate', 'user')),
    who TEXT,
    way TEXT NOT NULL CHECK (way IN ('in_place', 'submitted')),
    time INTEGER NOT NULL
) STRICT;
CREATE INDEX promotion_phase ON promotion (phase);
CREATE TABLE journal (
    run INTEGER NOT NULL REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    node TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    PRIMARY KEY (run, node)
) STRICT, WITHOUT ROWID;
CREATE TABLE node_health (
    id INTEGER PRIMARY KEY,
    node TEXT NOT NULL,
    cause TEXT CHECK (cause IN ('node_fail', 'launch', 'preflight')),
    run INTEGER REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    message TEXT,
    since INTEGER NOT NULL,
    until INTEGER,
    count INTEGER NOT NULL,
    cleared INTEGER
) STRICT;
CREATE INDEX node_health_node ON node_health (node);
CREATE VIEW v_phase AS SELECT phase.workflow || '/' || phase.name AS address, phase.state,
    phase.hold, phase.reason, phase.attempts, newest.last_step, phase.total, (SELECT
    sum(gpu_hours) FROM v_run WHERE v_run.phase = phase.id) AS gpu_hours, (SELECT sum(usd) FROM
    v_run WHERE v_run.phase = phase.id) AS usd, phase.checkpoint_path AS checkpoint,
    phase.workflow, phase.id AS phase, newest.id AS run FROM phase LEFT JOIN run AS newest ON
    newest.phase = phase.id AND newest.attempt = (SELECT max(attempt) FROM run WHERE run.phase =
    phase.id);
CREATE VIEW v_event AS SELECT event.id AS event, strftime('%Y-%m-%d %H:%M:%f', event.time /
    1000.0, 'unixepoch') AS time, event.workflow || ifnull('/' || phase.name, '') || ifnull('#' ||
    run.attempt, '') AS address, event.type, event.from_state, event.to_state, event.message FROM
    event LEFT JOIN run ON run.id = event.run LEFT JOIN phase ON phase.id = ifnull(event.phase,
    run.phase);
CREATE VIEW v_metric AS SELECT phase.workflow || '/' || phase.name || '#' || run.attempt AS
    address, metric_name.name, metric.step, ifnull(metric.value, 'nan') AS value,
    strftime('%Y-%m-%d %H:%M:%f', metric.time / 1000.0, 'unixepoch') AS time, run.id AS run FROM
    metric JOIN metric_name ON metric_name.id = metric.name JOIN run ON run.id = metric.run JOIN
    phase ON phase.id = run.phase;
CREATE VIEW v_verdict AS SELECT phase.workflow || '/' || phase.name || '#' || run.attempt AS
    address, verdict.kind, verdict.name, verdict.outcome, verdict.value, verdict.bounds,
    verdict.reason, datetime(verdict.time / 1000, 'unixepoch') AS time, run.id AS run FROM verdict
    JOIN run ON run.id = verdict.run JOIN phase ON phase.id = run.phase;
CREATE VIEW v_promotion AS SELECT phase.workflow || '/' || phase.name AS address, next.name AS
    next, promotion.decided_by, promotion.who, promotion.way, datetime(promotion.time / 1000,
    'unixepoch') AS time, promotion.phase, promotion.run FROM promotion JOIN phase ON phase.id =
    promotion.phase LEFT JOIN phase AS next ON next.id = promotion.next;
CREATE VIEW v_node AS SELECT health.node, health.cause, phase.workflow || '/' || phase.name || '#'
    || run.attempt AS address, health.message, datetime(health.since / 1000, 'unixepoch') AS
    since, datetime(health.until / 1000, 'unixepoch') AS until, health.count FROM node_health AS
    health LEFT JOIN run ON run.id = health.run LEFT JOIN phase ON phase.id = run.phase WHERE
    health.id IN (SELECT max(id) FROM node_health GROUP BY node) AND health.cleared IS NULL AND
    ifnull(health.until > CAST(strftime('%s') AS INTEGER) * 1000, 1);
CREATE TABLE preflight (
    run INTEGER NOT NULL REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    node TEXT NOT NULL,
    level TEXT NOT NULL,
    observed INTEGER NOT NULL,
    outcome TEXT NOT NULL CHECK (outcome IN ('passed', 'failed', 'could not tell')),
    reason TEXT,
    lasted INTEGER NOT NULL,
    time INTEGER NOT NULL,
    PRIMARY KEY (run, node)
) STRICT, WITHOUT ROWID;
CREATE TABLE preflight_row (
    run INTEGER NOT NULL REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    node TEXT NOT NULL,
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    outcome TEXT NOT NULL CHECK (outcome IN ('passed', 'failed', 'could not tell')),
    text TEXT,
    PRIMARY KEY (run, node, position)
) STRICT, WITHOUT ROWID;
CREATE VIEW v_preflight AS SELECT phase.workflow || '/' || phase.name || '#' || run.attempt AS
    address, preflight.node, preflight.level, preflight.outcome, preflight.reason,
    preflight.lasted / 1000.0 AS seconds, datetime(preflight.time / 1000, 'unixepoch') AS time,
    preflight.run FROM preflight JOIN run ON run.id = preflight.run JOIN phase ON phase.id =
    run.phase;
CREATE TABLE gpu (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    node TEXT NOT NULL,
    number INTEGER NOT NULL,
    model TEXT,
    uuid TEXT,
    memory_mib INTEGER,
    sampled INTEGER NOT NULL DEFAULT 0,
    idle INTEGER NOT NULL DEFAULT 0,
    UNIQUE (run, node, number)
) STRICT;
CREATE TABLE sample (
    gpu INTEGER NOT NULL REFERENCES gpu DEFERRABLE INITIALLY DEFERRED,
    seconds INTEGER NOT NULL CHECK (seconds IN (1, 10, 60)),
    time INTEGER NOT NULL,
    util INTEGER,
    memory_util INTEGER,
    memory_mib INTEGER,
    power_w INTEGER,
    temperature_c INTEGER,
    memory_temperature_c INTEGER,
    sm_clock_mhz INTEGER,
    memory_clock_mhz INTEGER,
    clock_reasons INTEGER,
    ecc_corrected INTEGER,
    ecc_uncorrected INTEGER,
    xid INTEGER,
    sm_active INTEGER,
    tensor_active INTEGER,
    dram_active INTEGER,
    PRIMARY KEY (gpu, seconds, time)
) STRICT, WITHOUT ROWID;
CREATE INDEX sample_fine ON sample (time) WHERE seconds < 60;
CREATE VIEW v_sample AS SELECT phase.workflow || '/' || phase.name || '#' || run.attempt AS
    address, gpu.node, gpu.number, sample.seconds, datetime(sample.time / 1000, 'unixepoch') AS
    time, sample.util, sample.memory_util, sample.memory_mib, sample.power_w,
    sample.temperature_c, sample.memory_temperature_c, sample.sm_clock_mhz,
    sample.memory_clock_mhz, sample.clock_reasons, sample.ecc_corrected, sample.ecc_uncorrected,
    sample.xid, sample.sm_active, sample.tensor_active, sample.dram_active, gpu.model, gpu.run
    FROM sample JOIN gpu ON gpu.id = sample.gpu JOIN run ON run.id = gpu.run JOIN phase ON
    phase.id = run.phase;
CREATE VIEW v_gpu AS SELECT phase.workflow || '/' || phase.name || '#' || run.attempt AS address,
    gpu.node, gpu.number, gpu.model, gpu.uuid, gpu.memory_mib, gpu.sampled / 3600.0 AS hours,
    100.0 * gpu.idle / nullif(gpu.sampled, 0) AS idle_percent, gpu.run FROM gpu JOIN run ON run.id
    = gpu.run JOIN phase ON phase.id = run.phase;
CREATE TABLE pace (
    run INTEGER NOT NULL REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    node TEXT NOT NULL,
    step INTEGER NOT NULL,
    step_seconds REAL NOT NULL,
    steps INTEGER NOT NULL,
    seconds REAL NOT NULL,
    time INTEGER NOT NULL,
    PRIMARY KEY (run, node)
) STRICT, WITHOUT ROWID;
CREATE VIEW v_pace AS SELECT phase.workflow || '/' || phase.name || '#' || run.attempt AS address,
    pace.node, pace.step, pace.step_seconds, pace.seconds / pace.steps AS mean_step_seconds,
    datetime(pace.time / 1000, 'unixepoch') AS time, pace.run FROM pace JOIN run ON run.id =
    pace.run JOIN phase ON phase.id = run.phase;
CREATE TABLE evidence (
    run INTEGER NOT NULL REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    node TEXT NOT NULL,
    time INTEGER NOT NULL,
    silent REAL,
    summary TEXT,
    evidence TEXT NOT NULL,
    PRIMARY KEY (run, node)
) STRICT, WITHOUT ROWID;
CREATE TABLE failure (
    run INTEGER PRIMARY KEY REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    name TEXT NOT NULL,
    cause TEXT NOT NULL,
    line TEXT NOT NULL,
    rank INTEGER,
    node TEXT,
    advice TEXT,
    blame TEXT NOT NULL CHECK (blame IN ('none', 'node', 'code'))
) STRICT;
CREATE INDEX failure_name ON failure (name);
CREATE VIEW v_failure AS SELECT phase.workflow || '/' || phase.name || '#' || run.attempt AS
    address, failure.name, failure.cause, failure.blame, failure.rank, failure.node, failure.line,
    datetime(run.ended / 1000, 'unixepoch') AS ended, run.id AS run FROM failure JOIN run ON
    run.id = failure.run JOIN phase ON phase.id = run.phase;
CREATE TABLE remedy (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL UNIQUE REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    cause TEXT NOT NULL,
    number INTEGER NOT NULL,
    times INTEGER NOT NULL,
    resume TEXT NOT NULL CHECK (resume IN ('checkpoint', 'start', 'previous')),
    changes TEXT NOT NULL,
    time INTEGER NOT NULL
) STRICT;
CREATE VIEW v_remedy AS SELECT phase.workflow || '/' || phase.name || '#' || run.attempt AS
    address, remedy.cause, remedy.number, remedy.times, remedy.resume, remedy.changes,
    datetime(remedy.time / 1000, 'unixepoch') AS time, run.id AS run FROM remedy JOIN run ON
    run.id = remedy.run JOIN phase ON phase.id = run.phase;
CREATE INDEX job_host ON job (host) WHERE host IS NOT NULL;
CREATE TABLE matrix (
    phase INTEGER PRIMARY KEY REFERENCES phase DEFERRABLE INITIALLY DEFERRED,
    lanes INTEGER NOT NULL,
    parallel INTEGER NOT NULL,
    rungs INTEGER NOT NULL,
    best INTEGER REFERENCES phase DEFERRABLE INITIALLY DEFERRED
) STRICT;
CREATE TABLE member (
    phase INTEGER PRIMARY KEY REFERENCES phase DEFERRABLE INITIALLY DEFERRED,
    matrix INTEGER NOT NULL REFERENCES phase DEFERRABLE INITIALLY DEFERRED,
    number INTEGER NOT NULL,
    params TEXT NOT NULL,
    value REAL,
    standing TEXT CHECK (standing IN ('best', 'left', 'cut', 'out')),
    reason TEXT,
    fingerprint TEXT,
    reused INTEGER REFERENCES phase DEFERRABLE INITIALLY DEFERRED,
    reused_rung INTEGER NOT NULL,
    UNIQUE (matrix, number)
) STRICT;
CREATE INDEX member_fingerprint ON member (fingerprint);
CREATE TABLE choice (
    id INTEGER PRIMARY KEY,
    phase INTEGER NOT NULL REFERENCES phase DEFERRABLE INITIALLY DEFERRED,
    changes TEXT NOT NULL,
    time INTEGER NOT NULL
) STRICT;
CREATE INDEX choice_phase ON choice (phase);
CREATE VIEW v_member AS SELECT phase.workflow || '/' || phase.name AS address, matrix.name AS
    matrix, member.number, member.params, phase.state, member.value, member.standing,
    member.reason, member.phase FROM member JOIN phase ON phase.id = member.phase JOIN phase AS
    matrix ON matrix.id = member.matrix;
CREATE VIEW v_workflow AS SELECT workflow.id AS workflow, workflow.name, CASE WHEN min(phase.state
    IN ('succeeded', 'failed', 'cancelled', 'skipped')) = 0 THEN CASE WHEN max(phase.state =
    'held') AND NOT max(phase.state IN ('queued', 'active', 'deciding')) THEN 'held' ELSE
    'running' END WHEN max(phase.state = 'failed' AND member.phase IS NULL) THEN 'failed' WHEN
    max(phase.state = 'cancelled' AND member.phase IS NULL) THEN 'cancelled' ELSE 'succeeded' END
    AS state, datetime(workflow.submitted / 1000, 'unixepoch') AS submitted,
    datetime(workflow.ended / 1000, 'unixepoch') AS ended, count(*) - count(member.phase) AS
    phases, workflow.file, workflow.workdir FROM workflow JOIN phase ON phase.workflow =
    workflow.id LEFT JOIN member ON member.phase = phase.id GROUP BY workflow.id;
CREATE TABLE month (
    month TEXT PRIMARY KEY,
    budget TEXT,
    told INTEGER NOT NULL
) STRICT;
CREATE VIEW v_run AS SELECT phase.workflow || '/' || phase.name || '#' || run.attempt AS address,
    run.state, run.outcome, run.cause, run.message, job.slurm_id AS job_id, job.state AS
    job_state, ifnull(run.nodes, job.nodes) AS nodes, datetime(run.submitted / 1000, 'unixepoch')
    AS submitted, datetime(run.started / 1000, 'unixepoch') AS started, datetime(run.ended / 1000,
    'unixepoch') AS ended, run.resume_step AS first_step, run.last_step, run.in_place, run.lasted
    / 1000.0 AS seconds, run.paid / 1000.0 AS paid_seconds, run.paid / 3600000.0 * job.node_count
    * job.gpus_per_node AS gpu_hours, run.paid / 3600000.0 * job.node_count *
    coalesce(phase.usd_per_node_hour, job.gpus_per_node * CASE WHEN job.gpu_type IS NULL THEN
    phase.usd_per_gpu_hour ELSE job.usd_per_gpu_hour END) AS usd, phase.workflow, phase.id AS
    phase, run.id AS run FROM (SELECT run.*, CASE WHEN run.lanes IS NOT NULL THEN run.lasted * 1.0
    / run.lanes ELSE run.lasted - (SELECT total(max(until - max(since, ifnull(before, since)), 0))
    FROM (SELECT since, until, max(until) OVER (ORDER BY since, id ROWS BETWEEN UNBOUNDED
    PRECEDING AND 1 PRECEDING) AS before FROM (SELECT other.id, max(run.started, other.started) AS
    since, min(ifnull(run.ended, run.now), ifnull(other.ended, run.now), ifnull(job.absent_since,
    run.now)) AS until FROM job AS its JOIN run AS other ON other.job = its.id WHERE (its.id =
    ifnull(job.host, job.id) OR its.host = ifnull(job.host, job.id)) AND other.id < run.id) WHERE
    until > since)) END AS paid FROM (SELECT run.*, matrix.lanes, now.ms AS now,
    max(min(ifnull(run.ended, now.ms), ifnull(job.absent_since, now.ms)) - run.started, 0) AS
    lasted FROM run JOIN job ON job.id = run.job JOIN (SELECT CAST(strftime('%s') AS INTEGER) *
    1000 AS ms) AS now LEFT JOIN member ON member.phase = run.phase LEFT JOIN matrix ON
    matrix.phase = member.matrix AND matrix.parallel) AS run JOIN job ON job.id = run.job) AS run
    JOIN phase ON phase.id = run.phase JOIN job ON job.id = run.job;
CREATE VIEW v_waiting AS SELECT job.workflow, phase.id AS phase, first.id AS run, phase.workflow
    || '/' || phase.name || '#' || first.attempt AS address, ifnull(first.started, job.started) AS
    began, idle.ms / 1000.0 AS seconds, idle.ms / 3600000.0 * job.node_count * job.gpus_per_node
    AS gpu_hours, idle.ms / 3600000.0 * job.node_count * coalesce(phase.usd_per_node_hour,
    job.gpus_per_node * CASE WHEN job.gpu_type IS NULL THEN phase.usd_per_gpu_hour ELSE
    job.usd_per_gpu_hour END) AS usd FROM (SELECT job.id AS job, (SELECT min(run.id) FROM run
    WHERE run.job = job.id) AS run, max(CASE WHEN job.over THEN ifnull(job.ended, job.started)
    ELSE ifnull(job.absent_since, now.ms) END - job.started - (SELECT total(v_run.paid_seconds) *
    1000 FROM job AS its JOIN run AS inside ON inside.job = its.id JOIN v_run ON v_run.run =
    inside.id WHERE (its.id = job.id OR its.host = job.id) AND inside.started >= job.started), 0)
    AS ms FROM job JOIN (SELECT CAST(strftime('%s') AS INTEGER) * 1000 AS ms) AS now WHERE
    job.started IS NOT NULL AND job.host IS NULL) AS idle JOIN job ON job.id = idle.job JOIN run
    AS first ON first.id = idle.run JOIN phase ON phase.id = first.phase WHERE idle.ms > 0;
CREATE VIEW v_paid AS SELECT v_run.workflow, v_run.phase, v_run.run, run.started AS began,
    v_run.paid_seconds, v_run.gpu_hours, v_run.usd FROM v_run JOIN run ON run.id = v_run.run WHERE
    run.started IS NOT NULL UNION ALL SELECT workflow, phase, run, began, seconds, gpu_hours, usd
    FROM v_waiting;
CREATE VIEW v_cost AS WITH RECURSIVE used(run, until) AS ( SELECT run.id, NULL FROM run WHERE
    run.attempt = (SELECT max(attempt) FROM run AS other WHERE other.phase = run.phase) UNION ALL
    SELECT ifnull((SELECT before.id FROM run AS before JOIN checkpoint ON checkpoint.run =
    before.id WHERE before.phase = later.phase AND before.attempt < later.attempt AND
    checkpoint.path = later.resume_path AND checkpoint.step = later.resume_step ORDER BY
    before.attempt DESC LIMIT 1), (SELECT before.id FROM run AS before WHERE before.phase =
    later.phase AND before.attempt < later.attempt AND before.last_step >= later.resume_step ORDER
    BY before.attempt DESC LIMIT 1)), later.resume_step FROM used JOIN run AS later ON later.id =
    used.run WHERE later.resume_path IS NOT NULL ), share AS ( SELECT v_run.*, run.started AS
    began, CASE WHEN v_run.outcome = 'succeeded' AND member.phase IS NOT NULL THEN 1.0 WHEN
    used.run IS NULL THEN 0.0 WHEN used.until IS NULL AND (v_run.state <> 'ended' OR v_run.outcome
    = 'succeeded') THEN 1.0 WHEN v_run.last_step <= max(v_run.first_step, 0) THEN 0.0 ELSE
    min(max((ifnull(used.until, ifnull((SELECT max(step) FROM checkpoint WHERE checkpoint.run =
    v_run.run), -1)) - max(v_run.first_step, 0)) * 1.0 / (v_run.last_step - max(v_run.first_step,
    0)), 0.0), 1.0) END AS kept FROM v_run JOIN run ON run.id = v_run.run LEFT JOIN used ON
    used.run = v_run.run LEFT JOIN member ON member.phase = v_run.phase WHERE run.started IS NOT
    NULL ) SELECT workflow, phase, run, address, began, 'useful' AS cause, seconds * kept AS
    seconds, paid_seconds * kept AS paid_seconds, gpu_hours * kept AS gpu_hours, usd * kept AS usd
    FROM share WHERE kept > 0 UNION ALL SELECT workflow, phase, run, address, began, CASE
    ifnull(outcome, 'succeeded') WHEN 'succeeded' THEN 'repeated' ELSE outcome END, seconds * (1 -
    kept), paid_seconds * (1 - kept), gpu_hours * (1 - kept), usd * (1 - kept) FROM share WHERE
    kept < 1 UNION ALL SELECT workflow, phase, run, address, began, 'waiting', seconds, seconds,
    gpu_hours, usd FROM v_waiting;
CREATE TABLE provenance (
    workflow INTEGER PRIMARY KEY REFERENCES workflow DEFERRABLE INITIALLY DEFERRED,
    root TEXT,
    commit_id TEXT,
    branch TEXT,
    diff TEXT,
    diff_note TEXT,
    untracked TEXT,
    packages TEXT,
    snapshot TEXT
) STRICT;
CREATE TABLE notice (
    id INTEGER PRIMARY KEY,
    workflow INTEGER NOT NULL REFERENCES workflow DEFERRABLE INITIALLY DEFERRED,
    phase INTEGER REFERENCES phase DEFERRABLE INITIALLY DEFERRED,
    kind TEXT NOT NULL CHECK (kind IN ('held', 'failed', 'succeeded', 'budget')),
    way TEXT NOT NULL CHECK (way IN ('command', 'webhook')),
    own INTEGER NOT NULL DEFAULT 0,
    message TEXT NOT NULL,
    time INTEGER NOT NULL,
    tries INTEGER NOT NULL DEFAULT 0,
    due INTEGER NOT NULL,
    done INTEGER
) STRICT;
CREATE INDEX notice_due ON notice (due) WHERE done IS NULL;
CREATE TRIGGER notice_held AFTER INSERT ON event WHEN NEW.type = 'phase' AND NEW.to_state = 'held'
    OR NEW.to_state = 'budget' BEGIN INSERT INTO notice (workflow, phase, kind, way, message,
    time, due) SELECT workflow.id, NEW.phase, wanted.value, way.column1, ifnull(NEW.message, ''),
    NEW.time, NEW.time FROM workflow, json_each(workflow.resolved, '$.notify.on') AS wanted,
    (VALUES ('command'), ('webhook')) AS way WHERE workflow.id = NEW.workflow AND wanted.value =
    NEW.to_state AND NOT EXISTS (SELECT 1 FROM notice AS same WHERE same.done IS NULL AND
    same.workflow = NEW.workflow AND NOT same.own AND same.kind = NEW.to_state AND same.way =
    way.column1 AND same.message = NEW.message AND same.time > NEW.time - 10000) AND
    json_extract(workflow.resolved, '$.notify.' || way.column1) IS NOT NULL; END;
CREATE TRIGGER notice_phase AFTER INSERT ON event WHEN NEW.type = 'phase' AND NEW.to_state IN
    ('held', 'failed', 'succeeded') BEGIN INSERT INTO notice (workflow, phase, kind, way, own,
    message, time, due) SELECT phase.workflow, phase.id, wanted.value, way.column1, 1,
    ifnull(NEW.message, ''), NEW.time, NEW.time FROM phase, json_each(phase.spec, '$.notify.on')
    AS wanted, (VALUES ('command'), ('webhook')) AS way WHERE phase.id = NEW.phase AND
    wanted.value = NEW.to_state AND (NEW.to_state = 'held' OR json_extract(phase.spec, '$.member')
    IS NULL) AND json_extract(phase.spec, '$.notify.' || way.column1) IS NOT NULL; END;
CREATE TRIGGER notice_ended AFTER UPDATE OF ended ON workflow WHEN OLD.ended IS NULL AND NEW.ended
    IS NOT NULL BEGIN INSERT INTO notice (workflow, kind, way, message, time, due) SELECT NEW.id,
    wanted.value, way.column1, ifnull((SELECT phase.name || ': ' || phase.reason FROM phase WHERE
    phase.workflow = NEW.id AND phase.state = 'failed' ORDER BY phase.position LIMIT 1), ''),
    NEW.ended, NEW.ended FROM v_workflow, json_each(NEW.resolved, '$.notify.on') AS wanted,
    (VALUES ('command'), ('webhook')) AS way WHERE v_workflow.workflow = NEW.id AND wanted.value =
    v_workflow.state AND json_extract(NEW.resolved, '$.notify.' || way.column1) IS NOT NULL; END;
CREATE TABLE journal_gap (
    run INTEGER NOT NULL REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    node TEXT NOT NULL,
    first_seq INTEGER NOT NULL,
    last_seq INTEGER NOT NULL, after_step INTEGER,
    PRIMARY KEY (run, node, first_seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE "outbox" (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL CHECK (kind IN ('submit', 'lookup', 'cancel-job', 'begin-job',
    'read-outcome', 'seal', 'judge', 'remedy', 'tell-stop', 'tell-next', 'tell-end')),
    target INTEGER NOT NULL,
    workflow INTEGER NOT NULL REFERENCES workflow DEFERRABLE INITIALLY DEFERRED,
    phase INTEGER REFERENCES phase DEFERRABLE INITIALLY DEFERRED,
    run INTEGER REFERENCES run DEFERRABLE INITIALLY DEFERRED,
    job INTEGER REFERENCES job DEFERRABLE INITIALLY DEFERRED,
    due INTEGER,
    UNIQUE (kind, target)
) STRICT;
CREATE INDEX outbox_workflow ON outbox (workflow);
CREATE TABLE lease (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    owner TEXT NOT NULL,
    pid INTEGER NOT NULL,
    host TEXT NOT NULL,
    since INTEGER NOT NULL
) STRICT;
CREATE TABLE migration (
    version INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    digest TEXT NOT NULL
) STRICT;
INSERT INTO migration VALUES
    (1, '001_record', '726d5f39e4424b112204f07711b4844a'),
    (2, '002_on_the_nodes', '6b814d2f6844eb389ccc9cbc7044aa09'),
    (3, '003_pipelines', '91c7dc25bc963abca53f3aab7497cedf'),
    (4, '004_suspect', '2d8bf59c3f70a331928f5632eb0e3dc0'),
    (5, '005_unseen', 'f808e655fcc1dfb3859478caf3a1d488'),
    (6, '006_journal_gap', '4d8b44efed76566416c76dc3475938c2'),
    (7, '007_begin_step', '03e846d47313e371c567b680a366b0ce'),
    (8, '008_seal', '93022a31e52d65830c2d187e8bf654d3'),
    (9, '009_lease', '39542437f0f8cbc712f212d317f14e99'),
    (10, '010_migration', '608ea4c79b9a85858aef4d4060a87fbf'),
    (11, '011_gap_step', 'd95eb702fdf339b60157a32b7e99222e');
