-- Version 22: which cluster has the jobs.
--
-- A daemon that was started with the configuration of another cluster took the jobs for lost, and
-- submitted to that cluster.

ALTER TABLE lease ADD COLUMN cluster TEXT NOT NULL DEFAULT '';
