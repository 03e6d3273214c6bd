-- The newest value of each metric. The query steps from name to name, because a run has many rows.
WITH RECURSIVE named (id) AS (
    SELECT min(name) FROM metric WHERE run = :run
    UNION ALL
    SELECT (SELECT min(name) FROM metric WHERE run = :run AND name > named.id)
      FROM named
     WHERE named.id IS NOT NULL
)
SELECT metric_name.name,
       (SELECT value FROM metric WHERE run = :run AND name = named.id ORDER BY step DESC LIMIT 1)
  FROM named
  JOIN metric_name ON metric_name.id = named.id
