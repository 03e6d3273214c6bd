-- name: metric_insert
-- A row of a run. A later value of a step replaces the value before.
INSERT INTO metric (run, name, step, value, time) VALUES (:run, :name, :step, :value, :time)
ON CONFLICT (run, name, step) DO UPDATE SET value = excluded.value, time = excluded.time;

-- name: metric_name_find
-- The id of a metric name.
SELECT id FROM metric_name WHERE name = :name;

-- name: metric_name_insert
-- A new metric name.
INSERT INTO metric_name (name) VALUES (:name);

-- name: metric_lineage
-- The runs of a phase, newest first, then the runs whose results the phase reuses, up to the rung
-- that it has reached. Metrics may arrive before the start of a run is known. `parent` is the
-- newest earlier run that saved the checkpoint of this run, or that resumed from it, too.
SELECT run.id, run.resume_path, run.resume_step, max(run.last_step, run.resume_step) AS step,
       (SELECT before.id
          FROM run AS before
         WHERE before.phase = run.phase AND before.attempt < run.attempt
           AND (before.resume_path = run.resume_path
                OR EXISTS (SELECT 1 FROM checkpoint
                            WHERE checkpoint.run = before.id
                              AND checkpoint.path = run.resume_path))
         ORDER BY before.attempt DESC LIMIT 1) AS parent,
       ifnull(run.started, (SELECT min(time) FROM metric WHERE metric.run = run.id)) AS started,
       run.ended
  FROM phase
  LEFT JOIN member ON member.phase = phase.id
  JOIN run ON run.phase IN (phase.id, member.reused)
 WHERE phase.id = :phase
   AND (run.phase = phase.id OR run.rung <= min(member.reused_rung, phase.rung))
 ORDER BY run.phase = phase.id DESC, run.attempt DESC;

-- name: metric_run
-- The newest run of a phase that has metrics.
SELECT id
  FROM run
 WHERE phase = :phase AND EXISTS (SELECT 1 FROM metric WHERE metric.run = run.id)
 ORDER BY attempt DESC
 LIMIT 1;

-- name: metric_names
-- The series of a run. The query steps from name to name, because a run has many rows.
WITH RECURSIVE named (id) AS (
    SELECT min(name) FROM metric WHERE run = :run
    UNION ALL
    SELECT (SELECT min(name) FROM metric WHERE run = :run AND name > named.id)
      FROM named
     WHERE named.id IS NOT NULL
)
SELECT metric_name.id, metric_name.name
  FROM named
  JOIN metric_name ON metric_name.id = named.id;

-- name: metric_rows
-- The rows of one series of a run up to a step.
SELECT step, value, time
  FROM metric
 WHERE run = :run AND name = :name AND step <= :step_max
 ORDER BY step;

-- name: metric_tail
-- The newest rows of one series between two steps, newest first.
SELECT metric.step, metric.value, metric.time
  FROM metric_name
  JOIN metric ON metric.run = :run AND metric.name = metric_name.id
 WHERE metric_name.name = :name AND metric.step BETWEEN :from AND :to
 ORDER BY metric.step DESC
 LIMIT :last;

-- name: metric_span
-- The id of a series, and its first and its last step between two steps; NULL: it has no row there.
SELECT metric_name.id AS name,
       (SELECT min(step) FROM metric
         WHERE run = :run AND name = metric_name.id AND step BETWEEN :from AND :to) AS first,
       (SELECT max(step) FROM metric
         WHERE run = :run AND name = metric_name.id AND step BETWEEN :from AND :to) AS last
  FROM metric_name
 WHERE metric_name.name = :name;

-- name: metric_part
-- The first rows of one series between two steps.
SELECT step, value, time
  FROM metric
 WHERE run = :run AND name = :name AND step BETWEEN :from AND :to
 ORDER BY step
 LIMIT :rows;

-- name: metric_told
-- The reported rows of a run up to a step: the first and the last row, the longest interval between
-- two rows, and whether a checkpoint between the two shows that checkpoints and rows count the same
-- steps.
WITH row (step, gap) AS (
    SELECT step, step - lag(step) OVER (ORDER BY step)
      FROM (SELECT DISTINCT step FROM metric WHERE run = :run AND step <= :step_max)
), told (first, last, gap) AS (
    SELECT min(step), max(step), max(gap) FROM row
)
SELECT run.attempt, ifnull(told.first, -1) AS first, ifnull(told.last, -1) AS last,
       ifnull(told.gap, 0) AS gap,
       EXISTS (SELECT 1 FROM checkpoint
                WHERE checkpoint.run = :run
                  AND checkpoint.step BETWEEN told.first AND told.last) AS counts_alike
  FROM told
  JOIN run ON run.id = :run;

-- name: metrics_newest
-- The newest value of each metric. The query steps from name to name, because a run has many rows.
WITH RECURSIVE named (id) AS (
    SELECT min(name) FROM metric WHERE run = :run
    UNION ALL
    SELECT (SELECT min(name) FROM metric WHERE run = :run AND name > named.id)
      FROM named
     WHERE named.id IS NOT NULL
)
SELECT metric_name.name,
       (SELECT value FROM metric
         WHERE run = :run AND name = named.id ORDER BY step DESC LIMIT 1) AS value
  FROM named
  JOIN metric_name ON metric_name.id = named.id;
