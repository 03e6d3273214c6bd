-- From the index: the rows of the table are large.
SELECT id FROM workflow INDEXED BY workflow_ended ORDER BY +id DESC
