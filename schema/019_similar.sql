-- Version 19: an index for the phases that are similar to a phase that is planned.
--
-- `plan` asks for the similar phases of each member of a sweep. Until now it read all phases of the
-- record for each of them, and the daemon did nothing else in that time.

CREATE INDEX phase_similar ON phase (name) WHERE state = 'succeeded';
