INSERT INTO checkpoint (run, path, step, bytes, time) VALUES (:run, :path, :step, :bytes, :time)
ON CONFLICT (run, path) DO UPDATE
   SET step = excluded.step, bytes = excluded.bytes, time = excluded.time
