-- Version 16: which budget holds a phase.
--
-- Until now only the reason said it, in a sentence for people.

ALTER TABLE phase ADD COLUMN hold_budget TEXT CHECK (hold_budget IN ('workflow', 'month'));
ALTER TABLE phase ADD COLUMN hold_amount TEXT CHECK (hold_amount IN ('usd', 'gpu_hours', 'hours'));

UPDATE phase
   SET hold_budget = CASE WHEN reason LIKE 'held by its budget, %' THEN 'workflow' ELSE 'month' END,
       hold_amount = CASE WHEN reason LIKE '%$%' THEN 'usd'
                          WHEN reason LIKE '% GPU %' THEN 'gpu_hours'
                          ELSE 'hours' END
 WHERE (reason LIKE 'held by its budget, %' OR reason LIKE 'held by this month''s budget, %')
   AND (hold = 'user' OR state IN ('queued', 'active'));
