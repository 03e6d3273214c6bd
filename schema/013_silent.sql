-- Version 13: runs that nobody looked for.
--
-- A daemon before this version noted only in memory since when it looked for the outcome of a run
-- whose job was over. If it died then, the run waited for ever. The end of the job stands for that
-- time: the outcome is looked for once more.

UPDATE run
   SET silent_since = (SELECT ifnull(ended, run.submitted) FROM job WHERE id = run.job)
 WHERE state <> 'ended' AND silent_since IS NULL AND job IN (SELECT id FROM job WHERE over = 1);
