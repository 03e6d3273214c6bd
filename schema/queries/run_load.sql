SELECT phase.position, run.seat, run.job, run.id, run.attempt, run.rung, run.state, run.outcome, run.cause, run.message,
       run.in_place, run.begun, run.wish, run.resume_path, run.resume_step, ifnull(run.begin_step, -1), run.last_step,
       run.exit_code, run.signal, run.submitted, run.started, run.ended, run.silent_since, run.told,
       ifnull(run.suspect_step, -1),
       EXISTS (SELECT 1 FROM remedy WHERE remedy.run = run.id),
       EXISTS (SELECT 1 FROM outbox WHERE kind = 'tell-end' AND target = run.id)
  FROM phase
  JOIN run ON run.phase = phase.id
 WHERE phase.workflow = :workflow
 ORDER BY run.id
