-- The newest result of an equal member. One whose params a remedy has changed is another one.
SELECT phase.id, phase.workflow || '/' || phase.name, phase.checkpoint_path, phase.checkpoint_step
  FROM member
  JOIN phase ON phase.id = member.phase
  JOIN run ON run.phase = phase.id
 WHERE member.fingerprint = :fingerprint AND member.reused IS NULL
   AND phase.state = 'succeeded' AND NOT phase.overridden AND run.outcome = 'succeeded' AND run.ended >= :since
   AND NOT EXISTS (SELECT 1
                     FROM run AS one
                     JOIN remedy ON remedy.run = one.id
                    WHERE one.phase = phase.id)
   AND NOT EXISTS (SELECT 1 FROM choice WHERE choice.phase = phase.id)
 ORDER BY run.ended DESC
 LIMIT 1
