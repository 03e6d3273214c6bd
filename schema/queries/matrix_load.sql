SELECT phase.position, matrix.lanes, matrix.parallel, matrix.rungs, best.position
  FROM phase
  JOIN matrix ON matrix.phase = phase.id
  LEFT JOIN phase AS best ON best.id = matrix.best
 WHERE phase.workflow = :workflow
