INSERT INTO run (id, phase, attempt, rung, state, outcome, cause, message, seat, job, in_place, begun, wish,
                 resume_path, resume_step, begin_step, last_step, exit_code, signal,
                 submitted, started, ended, silent_since, told)
VALUES (:id, :phase, :attempt, :rung, :state, :outcome, :cause, :message, :seat, :job, :in_place, :begun, :wish,
        :resume_path, :resume_step, :begin_step, :last_step, :exit_code, :signal,
        :submitted, :started, :ended, :silent_since, :told)
ON CONFLICT (id) DO UPDATE
   SET state = excluded.state, outcome = excluded.outcome, cause = excluded.cause,
       message = excluded.message, job = excluded.job, in_place = excluded.in_place,
       begun = excluded.begun, wish = excluded.wish,
       resume_path = excluded.resume_path, resume_step = excluded.resume_step,
       begin_step = excluded.begin_step, last_step = excluded.last_step, exit_code = excluded.exit_code, signal = excluded.signal,
       submitted = excluded.submitted, started = excluded.started, ended = excluded.ended,
       silent_since = excluded.silent_since, told = excluded.told
