-- What runs that began since then have cost, with what their allocations waited. NULL: no price is
-- known.
SELECT sum(usd), total(gpu_hours), total(paid_seconds) / 3600 FROM v_paid WHERE began >= :since
