-- The positions of phases are their indexes in the model.
SELECT phase.position, other.position
  FROM phase
  JOIN phase AS other ON other.id = phase.beside
 WHERE phase.workflow = :workflow
