SELECT file, spec, overrides
  FROM workflow
 WHERE id = :workflow
