-- How many workflows_recent would list without limits.
SELECT (SELECT count(*) FROM workflow INDEXED BY workflow_ended WHERE ended IS NULL)
     + (SELECT count(*) FROM workflow INDEXED BY workflow_ended WHERE ended >= :since)
