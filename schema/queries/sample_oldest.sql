SELECT time
  FROM sample
 WHERE seconds < 60 AND time < :before
 ORDER BY time
 LIMIT 1 OFFSET :count
