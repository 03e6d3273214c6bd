SELECT notice.id AS notice, notice.kind, notice.way, notice.message, notice.tries,
       notice.time / 1000.0 AS time, notice.workflow, workflow.name,
       notice.workflow || ifnull('/' || phase.name, '') AS address,
       json_extract(CASE WHEN notice.own THEN phase.spec ELSE workflow.resolved END,
                    '$.notify.' || notice.way) AS target
  FROM notice
  JOIN workflow ON workflow.id = notice.workflow
  LEFT JOIN phase ON phase.id = notice.phase
 WHERE notice.done IS NULL AND notice.due <= :now
 ORDER BY notice.tries, notice.id
 LIMIT :limit
