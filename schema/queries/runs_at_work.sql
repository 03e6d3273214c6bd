-- Runs with an allocation, in workflows that are not over.
SELECT run.id, phase.workflow || '/' || phase.name || '#' || run.attempt
  FROM workflow
  JOIN phase ON phase.workflow = workflow.id
  JOIN run ON run.phase = phase.id
 WHERE workflow.ended IS NULL AND run.state IN ('starting', 'running', 'stopping')
 ORDER BY run.id
 LIMIT 1000
