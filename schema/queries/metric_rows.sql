SELECT metric_name.name, metric.step, metric.value, metric.time
  FROM metric
  JOIN metric_name ON metric_name.id = metric.name
 WHERE metric.run = :run AND metric.step <= :step_max
 ORDER BY metric.name, metric.step
