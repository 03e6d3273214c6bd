-- name: node_insert
-- Keeps new jobs away from a node.
INSERT INTO node_health (node, cause, run, message, since, until, count)
VALUES (:node, :cause, :run, :message, :since, :until, :count);

-- name: node_last
-- The newest exclusion of a node.
SELECT since, until, count, cleared FROM node_health
 WHERE node = :node
 ORDER BY id DESC LIMIT 1;

-- name: node_list
-- The nodes that new jobs are kept away from.
SELECT node FROM node_health
 WHERE id IN (SELECT max(id) FROM node_health GROUP BY node)
   AND cleared IS NULL AND ifnull(until > :now, 1)
 ORDER BY node;

-- name: node_clear
-- Lets new jobs use a node again.
UPDATE node_health SET cleared = :now
 WHERE node = :node AND cleared IS NULL AND ifnull(until > :now, 1);

-- name: node_answer
-- The nodes that new jobs are kept away from, and why.
SELECT health.node, health.cause,
       phase.workflow || '/' || phase.name || '#' || run.attempt AS run,
       ifnull(health.message, '') AS message,
       health.since / 1000.0 AS since, health.until / 1000.0 AS until, health.count
  FROM node_health AS health
  LEFT JOIN run ON run.id = health.run
  LEFT JOIN phase ON phase.id = run.phase
 WHERE health.id IN (SELECT max(id) FROM node_health GROUP BY node)
   AND health.cleared IS NULL AND ifnull(health.until > :now, 1)
 ORDER BY health.node;

-- name: preflight_put
-- The result of preflight on a node.
INSERT OR REPLACE INTO preflight
       (run, node, level, observed, outcome, reason, lasted, time)
VALUES (:run, :node, :level, :observed, :outcome, :reason, :lasted, :time);

-- name: preflight_row_put
-- One check of preflight on a node.
INSERT OR REPLACE INTO preflight_row (run, node, position, name, outcome, text)
VALUES (:run, :node, :position, :name, :outcome, :text);

-- name: preflight_answer
-- The results of preflight on a run's nodes, the worst first.
SELECT preflight.node, preflight.level, preflight.observed AS "observed?", preflight.outcome,
       ifnull(preflight.reason, '') AS reason, preflight.lasted / 1000.0 AS seconds,
       preflight.time / 1000.0 AS time,
       CASE WHEN health.cleared IS NULL THEN health.until / 1000.0 END AS excluded_until
  FROM preflight
  LEFT JOIN node_health AS health
    ON health.run = preflight.run AND health.node = preflight.node AND health.cause = 'preflight'
 WHERE preflight.run = :run
 ORDER BY CASE preflight.outcome WHEN 'failed' THEN 0 WHEN 'passed' THEN 2 ELSE 1 END,
          preflight.node
 LIMIT 100;
