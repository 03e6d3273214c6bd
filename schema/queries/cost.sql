-- name: spending
-- The cost of a workflow's allocations, with or without runs. NULL: the price is unknown.
SELECT sum(usd) AS usd, total(gpu_hours) AS gpu_hours, total(paid_seconds) / 3600 AS hours
  FROM v_paid
 WHERE workflow = :workflow;

-- name: month_spending
-- The cost of runs that began since `since`, with the waiting time of their allocations. NULL: no
-- price is known.
SELECT sum(usd) AS usd, total(gpu_hours) AS gpu_hours, total(paid_seconds) / 3600 AS hours
  FROM v_paid
 WHERE began >= :since;

-- name: phase_similar
-- How long the runs of similar phases took in total, if they succeeded: same names, same variants,
-- same GPUs, same number of steps. `gpu_types` are the types that will do, with commas between
-- them: all jobs of a similar phase got one of these types. NULL: a similar phase names no type,
-- either. For a job without a type, the first type of the phase counts. The newest 20 count. The
-- index gives the phases of this name, newest first, so no further phases are read.
SELECT count(*) AS count, avg(seconds) AS mean_s
  FROM (SELECT (SELECT sum(run.ended - run.started) / 1000.0
                  FROM run
                 WHERE run.phase = phase.id AND run.started IS NOT NULL
                   AND run.ended IS NOT NULL) AS seconds
          FROM phase
          JOIN workflow ON workflow.id = phase.workflow
         WHERE workflow.name = :workflow AND phase.name = :phase AND phase.state = 'succeeded'
           AND phase.nodes = :nodes AND phase.gpus_per_node = :gpus
           AND iif(:gpu_types IS NULL, phase.gpu_type IS NULL, NOT EXISTS
               (SELECT 1
                  FROM run
                  JOIN job ON job.id = run.job
                 WHERE run.phase = phase.id AND run.started IS NOT NULL
                   AND NOT ifnull(instr(',' || :gpu_types || ',',
                                        ',' || ifnull(job.gpu_type, phase.gpu_type) || ','), 0)))
           AND phase.total IS :total AND seconds IS NOT NULL
           AND ifnull(json_extract(workflow.resolved, '$.variants'), '[]') = :variants
         ORDER BY phase.id DESC
         LIMIT 20);

-- name: budgets
-- Workflows that are not over and have a budget.
SELECT id AS workflow,
       ifnull(budget, json_extract(resolved, '$.budget')) AS "budget{}", budget_told AS "told?"
  FROM workflow INDEXED BY workflow_ended
 WHERE ended IS NULL AND ifnull(budget, json_extract(resolved, '$.budget')) IS NOT NULL;

-- name: budget
-- The budget of a workflow, also if the workflow is over. NULL: it has no budget.
SELECT ifnull(budget, json_extract(resolved, '$.budget')) AS budget
  FROM workflow
 WHERE id = :workflow;

-- name: price_exists
-- No row if the file has no price. Dollars need a price.
SELECT id
  FROM workflow
 WHERE id = :workflow AND json_extract(resolved, '$.price') IS NOT NULL;

-- name: budget_set
-- A new budget of a workflow.
UPDATE workflow SET budget = :budget, budget_told = 0 WHERE id = :workflow;

-- name: budget_tell
-- The owner of a workflow was told that most of its budget is spent.
UPDATE workflow SET budget_told = 1 WHERE id = :workflow;

-- name: month_load
-- The month's budget. If the month has no budget yet, the budget of the newest month before it.
SELECT budget, month = :month AND told AS told
  FROM month
 WHERE month <= :month
 ORDER BY month DESC LIMIT 1;

-- name: month_save
-- The month's budget, and whether people were told that most of it is spent.
INSERT INTO month (month, budget, told) VALUES (:month, :budget, :told)
    ON CONFLICT (month) DO UPDATE SET budget = excluded.budget, told = excluded.told;

-- name: expected_answer
-- Phases with an expected cost, and the cost of all their runs. A matrix has the cost of its
-- members. Time of an allocation in which several runs were side by side counts once, as for
-- budgets.
SELECT phase.name AS phase, json_extract(phase.spec, '$.expect') AS "expect{}",
       total(paid.paid_seconds) / 3600 AS hours, total(paid.gpu_hours) AS gpu_hours,
       sum(paid.usd) AS usd
  FROM phase
  LEFT JOIN (SELECT ifnull(member.matrix, v_paid.phase) AS phase, v_paid.paid_seconds,
                    v_paid.gpu_hours, v_paid.usd
               FROM v_paid
               LEFT JOIN member ON member.phase = v_paid.phase
              WHERE v_paid.workflow = :workflow) AS paid ON paid.phase = phase.id
 WHERE phase.workflow = :workflow AND json_extract(phase.spec, '$.expect') IS NOT NULL
 GROUP BY phase.id
 ORDER BY phase.position;

-- name: expected_whole
-- The expected cost of a workflow, and its actual cost, counted as for its phases.
SELECT NULL AS phase, json_extract(workflow.resolved, '$.expect') AS "expect{}",
       total(v_paid.paid_seconds) / 3600 AS hours, total(v_paid.gpu_hours) AS gpu_hours,
       sum(v_paid.usd) AS usd
  FROM workflow
  LEFT JOIN v_paid ON v_paid.workflow = workflow.id
 WHERE workflow.id = :workflow AND json_extract(workflow.resolved, '$.expect') IS NOT NULL
 GROUP BY workflow.id;

-- name: costs_answer
-- The costs of runs that began in this period, by phase. `workflow` NULL: of all workflows, by
-- workflow. A run that a person held is told apart from a run that a person cancelled.
WITH spent AS (
    SELECT v_cost.workflow, v_cost.phase, v_cost.seconds, v_cost.paid_seconds, v_cost.gpu_hours,
           v_cost.usd,
           CASE WHEN v_cost.cause = 'cancelled' AND run.wish = 'hold' THEN 'held'
                ELSE v_cost.cause
           END AS cause
      FROM v_cost
      LEFT JOIN run ON run.id = v_cost.run
     WHERE (:workflow IS NULL OR v_cost.workflow = :workflow)
       AND v_cost.began >= :since AND v_cost.began < :until
)
SELECT workflow.id AS workflow, workflow.name,
       ifnull(workflow.budget, ifnull(json_extract(workflow.resolved, '$.budget'), 'null'))
           AS "budget{}",
       ifnull(json_extract(workflow.resolved, '$.expect'), 'null') AS "expect{}",
       phase.name AS phase, spent.cause, total(spent.seconds) AS seconds,
       total(spent.paid_seconds) AS paid_seconds,
       total(spent.gpu_hours) * 3600 AS gpu_seconds, sum(spent.usd) AS cost_usd
  FROM spent
  LEFT JOIN phase ON phase.id = spent.phase AND :workflow IS NOT NULL
  JOIN workflow ON workflow.id = spent.workflow
 GROUP BY workflow.id, phase.id, spent.cause
 ORDER BY workflow.id DESC, phase.position, spent.cause = 'useful' DESC, spent.cause;
