SELECT json_extract(resolved, '$.expect') FROM workflow WHERE id = :workflow
