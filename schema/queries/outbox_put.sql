INSERT INTO outbox (kind, target, workflow, phase, run, job, due)
VALUES (:kind, :target, :workflow, :phase, :run, :job, :due)
ON CONFLICT (kind, target) DO UPDATE SET run = excluded.run, due = excluded.due
