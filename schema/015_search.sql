-- Version 15: lists of many workflows.
--
-- A search looks through all workflows. The rows of workflows are large, and so the index has what
-- the search needs. A workflow that is over has failed if one of its phases has. (A matrix speaks for
-- its members.)

ALTER TABLE workflow ADD COLUMN words TEXT GENERATED ALWAYS AS
    (lower(id || ' ' || name || ' ' || file || ' ' || ifnull(json_extract(resolved, '$.variants'), '')
           || ' ' || ifnull(replace(replace(overrides, '":', '='), '"', ''), ''))) VIRTUAL;

DROP INDEX workflow_ended;
CREATE INDEX workflow_ended ON workflow (ended, id, words);

CREATE INDEX phase_failed ON phase (workflow, state) WHERE state IN ('failed', 'cancelled');
