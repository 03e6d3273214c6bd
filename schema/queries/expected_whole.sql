-- The expected cost of a workflow, and its actual cost, counted as for its phases.
SELECT NULL AS phase, json_extract(workflow.resolved, '$.expect') AS "expect{}",
       total(CASE WHEN matrix.parallel THEN v_cost.paid_seconds ELSE v_cost.seconds END) / 3600 AS hours,
       total(v_cost.gpu_hours) AS gpu_hours, sum(v_cost.usd) AS usd
  FROM workflow
  LEFT JOIN v_cost ON v_cost.workflow = workflow.id
  LEFT JOIN member ON member.phase = v_cost.phase
  LEFT JOIN matrix ON matrix.phase = member.matrix
 WHERE workflow.id = :workflow AND json_extract(workflow.resolved, '$.expect') IS NOT NULL
 GROUP BY workflow.id
