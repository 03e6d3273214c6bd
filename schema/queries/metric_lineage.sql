-- The runs of a phase, newest first. Metrics may arrive before the news of the start.
SELECT id, resume_path, resume_step,
       ifnull(started, (SELECT min(time) FROM metric WHERE metric.run = run.id)), ended
  FROM run
 WHERE phase = :phase
 ORDER BY attempt DESC
