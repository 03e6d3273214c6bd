SELECT checkpoint.run, checkpoint.path, checkpoint.step, checkpoint.bytes,
       checkpoint.paths, checkpoint.time
  FROM run
  JOIN checkpoint ON checkpoint.run = run.id
 WHERE run.phase = :phase
 ORDER BY checkpoint.step DESC, checkpoint.time DESC
