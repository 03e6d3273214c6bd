SELECT id, (SELECT id FROM run WHERE run.phase = phase.id ORDER BY attempt DESC LIMIT 1)
  FROM phase
 WHERE workflow = :workflow AND name = :name
