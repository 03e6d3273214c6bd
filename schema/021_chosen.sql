-- Version 21: a person's choice of a checkpoint outlives the daemon.
--
-- A suspect checkpoint is used only if a person chose it. Until now a daemon that was restarted
-- before the run began forgot the choice, and began from an earlier checkpoint.

ALTER TABLE phase ADD COLUMN chosen INTEGER NOT NULL DEFAULT 0;
