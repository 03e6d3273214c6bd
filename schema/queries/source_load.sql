SELECT file, spec, overrides, json_extract(resolved, '$.variants') AS variants
  FROM workflow
 WHERE id = :workflow
