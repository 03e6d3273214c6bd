INSERT INTO pace (run, node, step, step_seconds, steps, seconds, time)
VALUES (:run, :node, :step, :seconds / :steps, :steps, :seconds, :time)
    ON CONFLICT (run, node)
    DO UPDATE SET step = :step, step_seconds = :seconds / :steps, steps = min(steps, (1 << 53)) + :steps,
                  seconds = seconds + :seconds, time = :time
