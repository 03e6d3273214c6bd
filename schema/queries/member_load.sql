SELECT phase.position, matrix.position
  FROM phase
  JOIN member ON member.phase = phase.id
  JOIN phase AS matrix ON matrix.id = member.matrix
 WHERE phase.workflow = :workflow
