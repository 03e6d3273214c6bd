SELECT workflow.id AS workflow, workflow.name, v_workflow.state,
       workflow.submitted / 1000.0 AS submitted, workflow.ended / 1000.0 AS ended,
       workflow.file, workflow.workdir,
       ifnull(json_extract(workflow.resolved, '$.variants'), '[]') AS "variants{}",
       ifnull(workflow.overrides, '{}') AS "set{}"
  FROM v_workflow
  JOIN workflow ON workflow.id = v_workflow.workflow
 WHERE v_workflow.workflow = :workflow
