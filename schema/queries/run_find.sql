SELECT run.id
  FROM phase
  JOIN run ON run.phase = phase.id
 WHERE phase.workflow = :workflow AND phase.name = :name AND run.attempt = :attempt
