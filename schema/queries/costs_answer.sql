-- The costs of runs that began in this period. `workflow` NULL: of all workflows.
SELECT workflow.id AS workflow, workflow.name,
       ifnull(workflow.budget, ifnull(json_extract(workflow.resolved, '$.budget'), 'null'))
           AS "budget{}",
       ifnull(json_extract(workflow.resolved, '$.expect'), 'null') AS "expect{}",
       phase.name AS phase, v_cost.cause, total(v_cost.seconds) AS seconds,
       total(v_cost.paid_seconds) AS paid_seconds,
       total(v_cost.gpu_hours) * 3600 AS gpu_seconds, sum(v_cost.usd) AS cost_usd
  FROM v_cost
  JOIN phase ON phase.id = v_cost.phase
  JOIN workflow ON workflow.id = v_cost.workflow
 WHERE (:workflow IS NULL OR v_cost.workflow = :workflow)
   AND v_cost.began >= :since AND v_cost.began < :until
 GROUP BY phase.id, v_cost.cause
 ORDER BY workflow.id DESC, phase.position, v_cost.cause = 'useful' DESC, v_cost.cause
 LIMIT 20000
