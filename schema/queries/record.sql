-- name: last_ids
-- The last ids that were given. A new id is larger.
SELECT (SELECT max(id) FROM workflow) AS workflow, (SELECT max(id) FROM phase) AS phase,
       (SELECT max(id) FROM run) AS run, (SELECT max(id) FROM seat) AS seat,
       (SELECT max(id) FROM job) AS job;

-- name: outbox_put
-- An effect that is to be carried out.
INSERT INTO outbox (kind, target, workflow, phase, run, job, due)
VALUES (:kind, :target, :workflow, :phase, :run, :job, :due)
ON CONFLICT (kind, target) DO UPDATE SET run = excluded.run, due = excluded.due;

-- name: outbox_delete
-- An effect that is done.
DELETE FROM outbox WHERE kind = :kind AND target = :target;

-- name: outbox_list
-- The pending effects, oldest first.
SELECT kind, workflow, phase, run, job, due FROM outbox ORDER BY id;

-- name: lease_take
-- Makes this daemon the one that may write.
INSERT INTO lease (id, owner, pid, host, since)
VALUES (1, :owner, :pid, :host, CAST(strftime('%s') AS INTEGER) * 1000)
ON CONFLICT (id) DO UPDATE
   SET owner = excluded.owner, pid = excluded.pid, host = excluded.host, since = excluded.since;

-- name: lease_touch
-- Run twice in a transaction, it changes nothing, but SQLite has something to write.
UPDATE lease SET since = -since;

-- name: lease_get
-- The daemon that may write.
SELECT owner, pid, host FROM lease;

-- name: cluster_set
-- The cluster that has the jobs of the record.
UPDATE lease SET cluster = :cluster;

-- name: cluster_get
SELECT cluster FROM lease;
