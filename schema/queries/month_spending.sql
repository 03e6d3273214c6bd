-- What runs that began since then have cost. NULL: no price is known.
SELECT sum(usd), total(gpu_hours), total(seconds) / 3600
  FROM v_run
  JOIN run ON run.id = v_run.run
 WHERE run.started >= :since
