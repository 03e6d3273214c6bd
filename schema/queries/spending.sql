-- What a workflow's allocations have cost, runs or not. NULL: the price is not known.
SELECT sum(usd), total(gpu_hours), total(paid_seconds) / 3600 FROM v_paid WHERE workflow = :workflow
