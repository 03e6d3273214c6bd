-- Version 17: why the lead of a run stopped it, and what a gate found.
--
-- Until now only messages for people said it. A lead reports a stop_reason, and the history has it
-- before the message. The end of a run may have come before the report.

ALTER TABLE run ADD COLUMN stop_reason TEXT CHECK (stop_reason IN ('preempted', 'timed_out',
    'cancelled', 'held', 'over', 'until', 'guard', 'nan', 'hang', 'exit', 'preflight', 'launch'));

UPDATE run
   SET stop_reason = told.word
  FROM (SELECT run, substr(message, 1, instr(message || ':', ':') - 1) AS word
          FROM event
         WHERE type = 'run' AND to_state = 'stopping') AS told
 WHERE told.run = run.id
   AND told.word IN ('preempted', 'timed_out', 'cancelled', 'held', 'over', 'until', 'guard', 'nan',
                     'hang', 'exit', 'preflight', 'launch');
UPDATE run
   SET stop_reason = 'until'
 WHERE stop_reason IS NULL AND outcome = 'succeeded' AND message LIKE 'until %';

DROP TRIGGER event_stays;

UPDATE event
   SET to_state = CASE WHEN message LIKE 'gate passed%' THEN 'passed'
                       WHEN message LIKE 'gate failed, without data%' THEN 'insufficient'
                       WHEN message LIKE 'gate failed%' THEN 'failed'
                       ELSE 'incomplete' END
 WHERE type = 'gate';

CREATE TRIGGER event_stays BEFORE UPDATE ON event
BEGIN
    SELECT raise(ABORT, 'history is never changed');
END;
