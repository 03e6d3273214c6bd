-- Version 18: the result of a gate and the step of a checkpoint in the history.
--
-- Until now only messages for people said the step. The result stood where others have a state.

ALTER TABLE event ADD COLUMN result TEXT CHECK (result IN ('passed', 'failed', 'insufficient',
    'incomplete'));
ALTER TABLE event ADD COLUMN step INTEGER;

DROP TRIGGER event_stays;

UPDATE event SET result = to_state, to_state = NULL WHERE type = 'gate';
UPDATE event
   SET step = CAST(substr(message, 6, instr(message, ': ') - 6) AS INTEGER)
 WHERE type = 'checkpoint' AND message GLOB 'step [0-9]*: *';

CREATE TRIGGER event_stays BEFORE UPDATE ON event
BEGIN
    SELECT raise(ABORT, 'history is never changed');
END;

DROP VIEW v_event;

CREATE VIEW v_event AS
    -- The history, with addresses and times that can be read.
    SELECT event.id AS event,
           strftime('%Y-%m-%d %H:%M:%f', event.time / 1000.0, 'unixepoch') AS time,
           event.workflow || ifnull('/' || phase.name, '') || ifnull('#' || run.attempt, '')
               AS address,
           event.type, event.from_state, event.to_state, event.result, event.step, event.message
      FROM event
      LEFT JOIN run ON run.id = event.run
      LEFT JOIN phase ON phase.id = ifnull(event.phase, run.phase);
