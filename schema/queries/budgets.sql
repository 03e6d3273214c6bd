-- Workflows that are not over and have a budget.
SELECT id AS workflow,
       ifnull(budget, json_extract(resolved, '$.budget')) AS "budget{}", budget_told AS "told?"
  FROM workflow INDEXED BY workflow_ended
 WHERE ended IS NULL AND ifnull(budget, json_extract(resolved, '$.budget')) IS NOT NULL
   AND (:workflow IS NULL OR id = :workflow)
