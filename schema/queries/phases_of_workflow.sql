-- The phases, each with its newest run.
SELECT id, (SELECT id FROM run WHERE run.phase = phase.id ORDER BY attempt DESC LIMIT 1), workflow
  FROM phase
 WHERE workflow = :workflow
 ORDER BY position
