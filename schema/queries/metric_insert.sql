-- A later value of a step replaces the one before.
INSERT INTO metric (run, name, step, value, time) VALUES (:run, :name, :step, :value, :time)
ON CONFLICT (run, name, step) DO UPDATE SET value = excluded.value, time = excluded.time
