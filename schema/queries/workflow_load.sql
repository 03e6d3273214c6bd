SELECT name, submitted, ended, priority, after, window_from, window_to
  FROM workflow
 WHERE id = :id
