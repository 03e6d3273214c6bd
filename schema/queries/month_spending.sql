-- The cost of runs that began since then, with the waiting time of their allocations. NULL: no
-- price is known.
SELECT sum(usd), total(gpu_hours), total(paid_seconds) / 3600 FROM v_paid WHERE began >= :since
