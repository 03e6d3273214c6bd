SELECT run.id
  FROM phase
  JOIN run ON run.phase = phase.id
 WHERE phase.workflow = :workflow
 ORDER BY run.id DESC
 LIMIT :limit
