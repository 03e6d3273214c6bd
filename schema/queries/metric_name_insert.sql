INSERT INTO metric_name (name) VALUES (:name)
