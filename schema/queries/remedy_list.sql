-- All changes of params in a workflow so far, in the order in which they add up.
SELECT phase.name, remedy.changes
  FROM phase
  JOIN run ON run.phase = phase.id
  JOIN remedy ON remedy.run = run.id
 WHERE phase.workflow = :workflow
 ORDER BY remedy.id
