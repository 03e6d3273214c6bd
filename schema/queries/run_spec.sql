SELECT phase.spec, run.by_gpu
  FROM run
  JOIN phase ON phase.id = run.phase
 WHERE run.id = :run
