-- Results of equal members, the newest first: the rung that they have reached, and their GPUs, as
-- the driver or Slurm reported them, or else as requested. A member whose params a remedy has
-- changed is not equal. A member that may still continue is left out: it would take its checkpoint
-- along.
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
SELECT phase.id, phase.workflow || '/' || phase.name, phase.checkpoint_path, phase.checkpoint_step,
       phase.rung, result.gpu
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
 LIMIT :limit
