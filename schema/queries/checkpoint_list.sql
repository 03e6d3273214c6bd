-- The checkpoints of all runs of a phase, and of the runs whose results the phase reuses.
SELECT checkpoint.run, checkpoint.path, checkpoint.step, checkpoint.bytes,
       checkpoint.paths, checkpoint.time, checkpoint.suspect,
       checkpoint.unseen
  FROM phase
  LEFT JOIN member ON member.phase = phase.id
  JOIN run ON run.phase IN (phase.id, member.reused)
  JOIN checkpoint ON checkpoint.run = run.id
 WHERE phase.id = :phase AND (run.phase = phase.id OR run.rung <= member.reused_rung)
 ORDER BY checkpoint.step DESC, checkpoint.time DESC
