SELECT phase.position, matrix.position, member.reused, member.reused_rung,
       earlier.workflow || '/' || earlier.name
  FROM phase
  JOIN member ON member.phase = phase.id
  JOIN phase AS matrix ON matrix.id = member.matrix
  LEFT JOIN phase AS earlier ON earlier.id = member.reused
 WHERE phase.workflow = :workflow
