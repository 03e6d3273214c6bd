-- The newest rows of one series, newest first.
SELECT metric.step, metric.value
  FROM metric_name
  JOIN metric ON metric.run = :run AND metric.name = metric_name.id
 WHERE metric_name.name = :name
 ORDER BY metric.step DESC
 LIMIT :last
