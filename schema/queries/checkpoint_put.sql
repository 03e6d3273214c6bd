INSERT INTO checkpoint (run, path, step, bytes, paths, time, suspect, unseen)
VALUES (:run, :path, :step, :bytes, :paths, :time,
        :suspect OR EXISTS (SELECT 1 FROM run WHERE id = :run AND suspect_step <= :step), :unseen)
ON CONFLICT (run, path) DO UPDATE
   SET step = excluded.step, bytes = excluded.bytes, paths = excluded.paths, time = excluded.time,
       suspect = excluded.suspect, unseen = excluded.unseen
