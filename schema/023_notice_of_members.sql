-- Version 23: the notice of a workflow's end names no member of a matrix.
--
-- A member that failed does not make the workflow fail, and comes before the phase that does. So
-- its failure stood in the notice of a workflow that had succeeded, or in place of what had failed.

DROP TRIGGER notice_ended;

CREATE TRIGGER notice_ended AFTER UPDATE OF ended ON workflow
    WHEN OLD.ended IS NULL AND NEW.ended IS NOT NULL
BEGIN
    INSERT INTO notice (workflow, kind, way, message, time, due)
    SELECT NEW.id, wanted.value, way.column1,
           ifnull((SELECT phase.name || ': ' || phase.reason FROM phase
                    WHERE phase.workflow = NEW.id AND phase.state = 'failed'
                      AND NOT EXISTS (SELECT 1 FROM member WHERE member.phase = phase.id)
                    ORDER BY phase.position LIMIT 1), ''),
           NEW.ended, NEW.ended
      FROM v_workflow,
           json_each(NEW.resolved, '$.notify.on') AS wanted,
           (VALUES ('command'), ('webhook')) AS way
     WHERE v_workflow.workflow = NEW.id AND wanted.value = v_workflow.state
       AND json_extract(NEW.resolved, '$.notify.' || way.column1) IS NOT NULL;
END;
