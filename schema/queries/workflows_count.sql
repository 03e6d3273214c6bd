-- The number of workflows that workflows_recent lists without limits.
SELECT (SELECT count(*) FROM workflow INDEXED BY workflow_ended WHERE ended IS NULL)
     + (SELECT count(*) FROM workflow INDEXED BY workflow_ended WHERE ended >= :since)
