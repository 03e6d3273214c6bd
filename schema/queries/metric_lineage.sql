-- The runs of a phase, newest first, then the runs whose results the phase reuses, up to the rung
-- that it has reached. Metrics may arrive before the start of a run is known.
SELECT run.id, run.resume_path, run.resume_step,
       ifnull(run.started, (SELECT min(time) FROM metric WHERE metric.run = run.id)), run.ended
  FROM phase
  LEFT JOIN member ON member.phase = phase.id
  JOIN run ON run.phase IN (phase.id, member.reused)
 WHERE phase.id = :phase
   AND (run.phase = phase.id OR run.rung <= min(member.reused_rung, phase.rung))
 ORDER BY run.phase = phase.id DESC, run.attempt DESC
