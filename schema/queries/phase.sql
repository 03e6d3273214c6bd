-- name: phase_insert
-- A phase of a submitted workflow.
INSERT INTO phase (id, workflow, position, name, state, hold, reason, hold_budget, hold_amount,
                   overridden, checkpoint_path, checkpoint_step, attempts, failures, losses, stalls,
                   remedies, remedy, rung, promote, on_fail, has_checkpoint, nodes,
                   gpus_per_node, cpus_per_node, gpu_type, alternatives, time_s, stop_s,
                   linger_s, slurm_options, beside, chosen, anew, total, usd_per_node_hour,
                   usd_per_gpu_hour, spec)
VALUES (:id, :workflow, :position, :name, :state, :hold, :reason, :hold_budget, :hold_amount,
        :overridden, :checkpoint_path, :checkpoint_step, :attempts, :failures, :losses, :stalls,
        :remedies, :remedy, :rung, :promote, :on_fail, :has_checkpoint, :nodes,
        :gpus_per_node, :cpus_per_node, :gpu_type, :alternatives, :time_s, :stop_s,
        :linger_s, :slurm_options, :beside, :chosen, :anew, :total, :usd_per_node_hour,
        :usd_per_gpu_hour, :spec);

-- name: phase_load
-- The phases of a workflow for the model.
SELECT id, name, state, hold, reason, hold_budget, hold_amount, overridden, checkpoint_path,
       checkpoint_step, attempts, failures, losses, stalls, promote, on_fail, has_checkpoint, nodes,
       gpus_per_node, cpus_per_node, gpu_type, alternatives, time_s, stop_s, linger_s,
       slurm_options, rung, chosen, anew, remedies, remedy,
       json_type(spec, '$.until_resumed') IS NOT NULL AS must_resume
  FROM phase
 WHERE workflow = :workflow
 ORDER BY position;

-- name: phase_save
-- Saves what changes in a phase. phase_revise saves what comes from the spec.
UPDATE phase
   SET state = :state, hold = :hold, reason = :reason, hold_budget = :hold_budget,
       hold_amount = :hold_amount, overridden = :overridden,
       checkpoint_path = :checkpoint_path, checkpoint_step = :checkpoint_step, chosen = :chosen,
       anew = :anew, attempts = :attempts, failures = :failures, losses = :losses,
       stalls = :stalls, remedies = :remedies, remedy = :remedy, rung = :rung
 WHERE id = :id;

-- name: phase_revise
-- A phase with other params: replaces everything that comes from the spec.
UPDATE phase
   SET promote = :promote, on_fail = :on_fail, has_checkpoint = :has_checkpoint, nodes = :nodes,
       gpus_per_node = :gpus_per_node, cpus_per_node = :cpus_per_node, gpu_type = :gpu_type,
       alternatives = :alternatives,
       time_s = :time_s, stop_s = :stop_s, linger_s = :linger_s, slurm_options = :slurm_options,
       total = :total, usd_per_node_hour = :usd_per_node_hour,
       usd_per_gpu_hour = :usd_per_gpu_hour, spec = :spec
 WHERE id = :id;

-- name: phase_find
-- A phase by its name, with its newest run.
SELECT id AS phase,
       (SELECT id FROM run WHERE run.phase = phase.id ORDER BY attempt DESC LIMIT 1) AS run
  FROM phase
 WHERE workflow = :workflow AND name = :name;

-- name: phase_names
-- The names of the first phases of a workflow, as they are in its file; NULL: there is no workflow.
SELECT group_concat(name, ', ') AS names
  FROM (SELECT CASE WHEN phase.position < 8 THEN phase.name ELSE '...' END AS name
          FROM (SELECT id, name, row_number() OVER (ORDER BY position) - 1 AS position
                  FROM phase
                 WHERE workflow = :workflow
                   AND NOT EXISTS (SELECT 1 FROM member WHERE member.phase = phase.id)) AS phase
         ORDER BY phase.position
         LIMIT 9);

-- name: phase_spec
-- The resolved spec of a phase. The type of the GPUs of its newest run changes it. A phase without
-- runs may reuse the results of another phase, whose newest run counts then.
SELECT phase.spec,
       (SELECT by_gpu
          FROM run
         WHERE run.phase IN (:phase, member.reused)
         ORDER BY run.phase = :phase DESC, run.attempt DESC
         LIMIT 1) AS by_gpu
  FROM phase
  LEFT JOIN member ON member.phase = phase.id
 WHERE phase.id = :phase;

-- name: phase_answer
-- A phase and its costs. `run` is the newest run, or NULL. While Slurm does not know the job of the
-- run, there is no estimate and no time is counted. The remaining time is estimated once a node has
-- a pace: the time before the first step says nothing about the steps. Costs come from v_paid, as
-- in all other answers. v_waiting reads all runs of an allocation, so it is used only for the phase
-- that pays for the allocation: otherwise each of 200 members in one allocation would read all
-- these runs. `warning` is the newest warning of a run that is active.
SELECT phase.name AS phase, phase.workflow || '/' || phase.name AS address, phase.state,
       phase.hold, ifnull(phase.reason, '') AS reason, phase.hold_budget, phase.hold_amount,
       (SELECT group_concat(name)
          FROM (SELECT before.name
                  FROM edge
                  JOIN phase AS before ON before.id = edge.after
                 WHERE edge.phase = phase.id
                 ORDER BY edge.position)) AS "after[]",
       phase.promote, phase.attempts,
       CASE WHEN max(run.last_step, run.resume_step) >= 0
            THEN max(run.last_step, run.resume_step) END AS step,
       phase.total,
       CASE WHEN run.state = 'running' AND job.absent_since IS NULL
                 AND phase.total >= run.last_step
            THEN (phase.total - run.last_step)
                 * (SELECT max(seconds / steps) FROM pace WHERE pace.run = run.id) END AS eta_s,
       phase.nodes * phase.gpus_per_node / pack.lanes AS gpus, phase.nodes,
       CASE WHEN pack.pays
            THEN phase.nodes
                 * ifnull(phase.usd_per_node_hour,
                          phase.gpus_per_node * CASE WHEN job.gpu_type IS NULL
                                                     THEN phase.usd_per_gpu_hour
                                                     ELSE job.usd_per_gpu_hour END)
                 / pack.lanes
            ELSE 0 * ifnull(phase.usd_per_node_hour, phase.usd_per_gpu_hour) END AS usd_per_hour,
       CASE WHEN phase.gpus_per_node > 0
            THEN CASE WHEN pack.pays
                      THEN phase.nodes * phase.gpus_per_node / pack.lanes ELSE 0 END
            END AS gpus_paid,
       used.gpu_seconds,
       ifnull(used.usd,
              CASE WHEN used.gpu_seconds = 0
                   THEN 0 * ifnull(phase.usd_per_node_hour, phase.usd_per_gpu_hour) END)
           AS cost_usd,
       (SELECT min(way) FROM promotion WHERE promotion.phase = phase.id) AS promoted,
       :runs || '/' || ifnull(earlier.workflow || '/' || earlier.name,
                              phase.workflow || '/' || ifnull(best.name, phase.name))
           || '/out' AS out,
       ifnull(best.checkpoint_path, phase.checkpoint_path) AS checkpoint,
       CASE WHEN phase.checkpoint_path NOT NULL THEN phase.checkpoint_step END AS checkpoint_step,
       (SELECT group_concat(step)
          FROM (SELECT DISTINCT checkpoint.step
                  FROM run AS one
                  JOIN checkpoint ON checkpoint.run = one.id
                 WHERE one.phase = phase.id AND one.suspect_step NOT NULL AND checkpoint.suspect
                   AND NOT EXISTS (SELECT 1 -- a later checkpoint at its path
                                     FROM run AS later
                                     JOIN checkpoint AS other ON other.run = later.id
                                    WHERE later.phase = phase.id AND later.id > one.id
                                      AND other.path = checkpoint.path)
                 ORDER BY checkpoint.step)) AS "suspects[]",
       CASE WHEN run.state IN ('starting', 'running', 'stopping')
            THEN (SELECT event.message
                    FROM event
                   WHERE event.run = run.id AND event.type = 'warning'
                   ORDER BY event.id DESC LIMIT 1) END AS warning,
       whole.name AS matrix, member.number, member.params AS "case{}", member.value,
       member.standing, ifnull(member.reason, '') AS out_reason, phase.rung + 1 AS rung,
       ifnull(matrix.rungs, 1) AS rungs,
       CASE WHEN matrix.phase NOT NULL
            THEN (SELECT count(*) FROM member AS one WHERE one.matrix = phase.id) END AS members,
       best.name AS best, earlier.workflow || '/' || earlier.name AS reused
  FROM phase
  JOIN (SELECT total(gpu_hours) * 3600 AS gpu_seconds, sum(usd) AS usd
          FROM (SELECT v_run.gpu_hours, v_run.usd
                  FROM v_run
                  JOIN run ON run.id = v_run.run
                 WHERE v_run.phase = :phase AND run.started IS NOT NULL
                UNION ALL
                SELECT gpu_hours, usd
                  FROM v_waiting
                 WHERE workflow = :workflow AND phase = :phase
                   AND EXISTS (SELECT 1 -- a run of the phase that is the first in its allocation
                                 FROM run
                                WHERE run.phase = :phase
                                  AND run.id = (SELECT min(other.id)
                                                  FROM run AS other
                                                 WHERE other.job = run.job)))) AS used
  JOIN (SELECT lanes, -- and whether the phase pays: the first run in an allocation pays
               lanes > 1 OR NOT EXISTS
               (SELECT 1
                  FROM run AS own
                  JOIN run AS other ON other.job = own.job
                 WHERE own.id = :run AND other.id < own.id AND other.state <> 'ended') AS pays
          FROM (SELECT ifnull((SELECT matrix.lanes
                                 FROM member
                                 JOIN matrix ON matrix.phase = member.matrix
                                WHERE member.phase = :phase AND matrix.parallel), 1) AS lanes))
       AS pack
  LEFT JOIN run ON run.id = :run
  LEFT JOIN job ON job.id = run.job
  LEFT JOIN member ON member.phase = phase.id
  LEFT JOIN phase AS whole ON whole.id = member.matrix
  LEFT JOIN matrix ON matrix.phase = phase.id
  LEFT JOIN phase AS best ON best.id = matrix.best
  LEFT JOIN member AS chosen ON chosen.phase = matrix.best
  LEFT JOIN phase AS earlier ON earlier.id = ifnull(member.reused, chosen.reused)
 WHERE phase.id = :phase;

-- name: phases_of_workflow
-- The phases, each with its newest run.
SELECT id AS phase,
       (SELECT id FROM run WHERE run.phase = phase.id ORDER BY attempt DESC LIMIT 1) AS run,
       workflow
  FROM phase
 WHERE workflow = :workflow
 ORDER BY position;

-- name: edge_insert
-- A phase that another phase comes after.
INSERT INTO edge (phase, position, after) VALUES (:phase, :position, :after);

-- name: edge_load
-- The phases that other phases come after. Positions are the indexes of phases in the model.
SELECT phase.position, before.position AS after
  FROM phase
  JOIN edge ON edge.phase = phase.id
  JOIN phase AS before ON before.id = edge.after
 WHERE phase.workflow = :workflow
 ORDER BY phase.position, edge.position;

-- name: beside_load
-- The phases that run side by side. Positions are the indexes of phases in the model.
SELECT phase.position, other.position AS beside
  FROM phase
  JOIN phase AS other ON other.id = phase.beside
 WHERE phase.workflow = :workflow;

-- name: promotion_insert
-- A decision to go on with the next phase.
INSERT INTO promotion (phase, next, run, decided_by, who, way, time)
VALUES (:phase, :next, :run, :decided_by, :who, :way, :time);

-- name: launch_load
-- What the launch of a run needs, with the params that remedies have changed. No other phase has
-- the same `identity`, not even in the record of another home.
SELECT phase.spec, workflow.environment, workflow.limits, workflow.workdir, workflow.umask,
       json_array(workflow.key, workflow.submitted, workflow.host, workflow.workdir, workflow.id,
                  phase.name) AS identity,
       (SELECT json_group_array(DISTINCT json_extract(change.value, '$.param'))
          FROM run
          JOIN remedy ON remedy.run = run.id
          JOIN json_each(remedy.changes) AS change
         WHERE run.phase = phase.id) AS changed
  FROM phase
  JOIN workflow ON workflow.id = phase.workflow
 WHERE phase.id = :phase;
