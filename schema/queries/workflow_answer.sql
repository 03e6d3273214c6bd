SELECT workflow.id AS workflow, workflow.name, v_workflow.state,
       workflow.submitted / 1000.0 AS submitted, workflow.ended / 1000.0 AS ended,
       workflow.file, workflow.workdir,
       ifnull(json_extract(workflow.resolved, '$.variants'), '[]') AS "variants{}",
       ifnull(workflow.overrides, '{}') AS "set{}",
       ifnull(workflow.budget, json_extract(workflow.resolved, '$.budget')) AS "budget{}",
       provenance.commit_id AS "commit", provenance.branch,
       CASE WHEN provenance.commit_id IS NOT NULL
            THEN provenance.diff IS NULL OR provenance.diff <> ''
                 OR ifnull(provenance.untracked, '') <> '' END AS "changed?",
       provenance.snapshot
  FROM v_workflow
  JOIN workflow ON workflow.id = v_workflow.workflow
  LEFT JOIN provenance ON provenance.workflow = workflow.id
 WHERE v_workflow.workflow = :workflow
