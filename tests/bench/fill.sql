-- Fills an empty record with finished workflows, two phases each, and live ones whose first phase has
-- run, has told 10 metrics, and is held by its gate, for the benchmarks. How many there are stands in
-- the table `size`.
PRAGMA foreign_keys = OFF;
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
BEGIN;
CREATE TEMP TABLE made AS
    WITH RECURSIVE n(i) AS
        (SELECT 0 UNION ALL SELECT i + 1 FROM n, size WHERE i + 1 < finished + size.live)
    SELECT (SELECT ifnull(max(id), 0) FROM workflow) + 1 + i AS id, i >= finished AS live,
           1790000000000 + i * 1000 AS time
      FROM n, size;
INSERT INTO workflow (id, name, submitted, ended, file, workdir, umask, limits, resolved,
                      environment, spec)
    SELECT id, 'trm', time, iif(live, NULL, time + 900000), 'trm.yaml', '/home/anna/trm', 18, '[]',
           '{"name": "trm"}', json_object('PATH', '/usr/bin:/bin', 'REST', printf('%.1500c', 'x')),
           printf('%.1000c', 'x')
      FROM made;
INSERT INTO phase (workflow, position, name, state, hold, overridden, checkpoint_step, attempts,
                   failures, losses, stalls, promote, on_fail, has_checkpoint, nodes,
                   gpus_per_node, cpus_per_node, gpu_type, time_s, stop_s, linger_s, total, spec)
    SELECT id, position, iif(position, 'production', 'validate'),
           iif(live, iif(position, 'blocked', 'held'), 'succeeded'),
           iif(live AND NOT position, 'gate', NULL), 0, 0, NOT (live AND position), '{}', 0, 0,
           'auto', 'hold', 1,
           1, 8, 128, 'h100', 3600, 90, 20, 1000,
           '{"name": "validate", "resources": {"nodes": 1, "gpus": 8}}'
      FROM made, (SELECT 0 AS position UNION ALL SELECT 1)
     ORDER BY id, position;
INSERT INTO edge (phase, position, after)
    SELECT id, 0, id - 1 FROM phase WHERE position = 1 AND name = 'production';
INSERT INTO seat (id, workflow, token, slot)
    SELECT id, id, printf('%032x', id), 0 FROM made;
INSERT INTO job (workflow, token, seat, slurm_id, state, nodes, node_count, gpus_per_node, time_s, over,
                 restarts, submitted, started, ended)
    SELECT id, printf('%032x', id), id, id, 'completed', 'n1', 1, 8, 3600, 1, 0, time, time + 1000,
           time + 900000
      FROM made;
INSERT INTO run (phase, attempt, state, outcome, job, seat, in_place, begun, resume_step, last_step,
                 exit_code, signal, submitted, started, ended)
    SELECT phase.id, 1, 'ended', 'succeeded', job.id, job.seat, phase.position, 1, -1, 1000, 0, 0,
           job.submitted, job.started, job.ended
      FROM job JOIN phase ON phase.workflow = job.workflow
     WHERE phase.attempts = 1;
INSERT INTO metric_name (name)
    WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 9)
    SELECT 'metric_' || i FROM n;
INSERT INTO metric (run, name, step, value, time)
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20)
    SELECT run.id, metric_name.id, n.i, 1.0 / n.i, run.started + n.i
      FROM run JOIN phase ON phase.id = run.phase, metric_name, n
     WHERE phase.state = 'held';
COMMIT;
PRAGMA journal_mode = WAL;
