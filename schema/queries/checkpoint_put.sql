INSERT INTO checkpoint (run, path, step, bytes, paths, time)
VALUES (:run, :path, :step, :bytes, :paths, :time)
ON CONFLICT (run, path) DO UPDATE
   SET step = excluded.step, bytes = excluded.bytes, paths = excluded.paths, time = excluded.time
