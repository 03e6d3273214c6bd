-- All that are not over, and the newest of the others. From the index: a row of the table is large.
SELECT id FROM workflow INDEXED BY workflow_ended WHERE ended IS NULL
UNION ALL
SELECT id
  FROM (SELECT id FROM workflow INDEXED BY workflow_ended
         WHERE ended >= :since
         ORDER BY ended DESC
         LIMIT :limit)
ORDER BY id DESC
