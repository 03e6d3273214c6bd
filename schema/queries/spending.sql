-- The cost of a workflow's allocations, with or without runs. NULL: the price is unknown.
SELECT sum(usd), total(gpu_hours), total(paid_seconds) / 3600 FROM v_paid WHERE workflow = :workflow
