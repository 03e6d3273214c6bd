-- name: matrix_insert
-- A matrix, beside its phase.
INSERT INTO matrix (phase, lanes, parallel, rungs) VALUES (:phase, :lanes, :parallel, :rungs);

-- name: matrix_load
-- The matrices of a workflow for the model. Positions are the indexes of phases.
SELECT phase.position, matrix.lanes, matrix.parallel, matrix.rungs, best.position AS best
  FROM phase
  JOIN matrix ON matrix.phase = phase.id
  LEFT JOIN phase AS best ON best.id = matrix.best
 WHERE phase.workflow = :workflow;

-- name: matrix_save
-- The best member of a matrix.
UPDATE matrix SET best = :best WHERE phase = :phase;

-- name: member_insert
-- A member of a matrix, beside its phase.
INSERT INTO member (phase, matrix, number, params, fingerprint, reused, reused_rung)
VALUES (:phase, :matrix, :number, :params, :fingerprint, :reused, :reused_rung);

-- name: member_load
-- The members of all matrices of a workflow for the model. Positions are the indexes of phases.
SELECT phase.position, matrix.position AS matrix, member.reused, member.reused_rung,
       earlier.workflow || '/' || earlier.name AS reused_from
  FROM phase
  JOIN member ON member.phase = phase.id
  JOIN phase AS matrix ON matrix.id = member.matrix
  LEFT JOIN phase AS earlier ON earlier.id = member.reused
 WHERE phase.workflow = :workflow;

-- name: member_save
-- How a member was judged.
UPDATE member SET value = :value, standing = :standing, reason = :reason WHERE phase = :phase;

-- name: members_list
-- The members, each with its newest run.
SELECT phase.id AS phase,
       (SELECT id FROM run WHERE run.phase = phase.id ORDER BY attempt DESC LIMIT 1) AS run,
       phase.workflow
  FROM member
  JOIN phase ON phase.id = member.phase
 WHERE member.matrix = :matrix
 ORDER BY member.number;

-- name: result_find
-- Results of equal members, the newest first: the rung that they have reached, and their GPUs, as
-- the driver or Slurm reported them, or else as requested. A member whose params a remedy has
-- changed is not equal. A member that may still go on to the next rung is left out, because its
-- checkpoint would move on with it.
WITH result AS (
    SELECT run.phase, run.rung, run.ended,
           coalesce(run.gpu, (SELECT model FROM gpu WHERE gpu.run = run.id LIMIT 1), job.gpu_type,
                    phase.gpu_type, '') AS gpu
      FROM member
      JOIN phase ON phase.id = member.phase
      JOIN run ON run.phase = phase.id
      JOIN job ON job.id = run.job
     WHERE member.fingerprint = :fingerprint AND run.outcome = 'succeeded'
)
SELECT phase.id AS phase, phase.workflow || '/' || phase.name AS address, phase.checkpoint_path,
       phase.checkpoint_step, phase.rung, result.gpu
  FROM result
  JOIN phase ON phase.id = result.phase
  JOIN member ON member.phase = phase.id
  JOIN matrix ON matrix.phase = member.matrix
  JOIN phase AS whole ON whole.id = matrix.phase
 WHERE result.rung = phase.rung AND result.ended >= :since AND member.reused IS NULL
   AND phase.state = 'succeeded' AND NOT phase.overridden
   AND (matrix.rungs = 1 OR whole.state IN ('succeeded', 'failed', 'cancelled'))
   AND NOT EXISTS (SELECT 1 FROM result AS other
                    WHERE other.phase = result.phase AND other.gpu <> result.gpu)
   AND NOT EXISTS (SELECT 1
                     FROM run AS one
                     JOIN remedy ON remedy.run = one.id
                    WHERE one.phase = phase.id)
 ORDER BY result.ended DESC
 LIMIT :limit;
