-- name: checkpoint_put
-- A checkpoint that a run reports. It is suspect from the first suspect step of the run.
INSERT INTO checkpoint (run, path, step, bytes, paths, time, suspect, unseen)
VALUES (:run, :path, :step, :bytes, :paths, :time,
        :suspect OR EXISTS (SELECT 1 FROM run WHERE id = :run AND suspect_step <= :step), :unseen)
ON CONFLICT (run, path) DO UPDATE
   SET step = excluded.step, bytes = excluded.bytes, paths = excluded.paths, time = excluded.time,
       suspect = excluded.suspect, unseen = excluded.unseen;

-- name: checkpoint_list
-- The checkpoints of all runs of a phase, and of the runs whose results the phase reuses.
SELECT checkpoint.run, checkpoint.path, checkpoint.step, ifnull(checkpoint.bytes, -1) AS bytes,
       checkpoint.paths, checkpoint.time, checkpoint.suspect, checkpoint.unseen
  FROM phase
  LEFT JOIN member ON member.phase = phase.id
  JOIN run ON run.phase IN (phase.id, member.reused)
  JOIN checkpoint ON checkpoint.run = run.id
 WHERE phase.id = :phase AND (run.phase = phase.id OR run.rung <= member.reused_rung)
 ORDER BY checkpoint.step DESC, checkpoint.time DESC;

-- name: checkpoint_suspect
-- Marks the checkpoints from this step on that the run has reported already.
UPDATE checkpoint SET suspect = 1 WHERE run = :run AND step >= :step;

-- name: run_suspect
-- A run is suspect from this step and time on. If a run has several, the first step and the first
-- time count.
UPDATE run
   SET suspect_step = min(ifnull(suspect_step, :step), :step),
       suspected = min(ifnull(suspected, :time), :time)
 WHERE id = :run;
