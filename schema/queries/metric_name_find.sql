SELECT id FROM metric_name WHERE name = :name
