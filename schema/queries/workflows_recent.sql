-- In two parts and from the index: a row of the table is large, and most are over.
SELECT id FROM workflow INDEXED BY workflow_ended WHERE ended IS NULL
UNION ALL
SELECT id FROM workflow INDEXED BY workflow_ended WHERE ended >= :since
ORDER BY id DESC
