-- The positions of phases are their indexes in the model.
SELECT phase.position, before.position
  FROM phase
  JOIN edge ON edge.phase = phase.id
  JOIN phase AS before ON before.id = edge.after
 WHERE phase.workflow = :workflow
 ORDER BY phase.position, edge.position
