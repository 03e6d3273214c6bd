SELECT kind, workflow, phase, run, job, due FROM outbox ORDER BY id
