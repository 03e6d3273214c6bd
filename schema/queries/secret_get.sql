SELECT secret FROM run WHERE id = :run AND secret IS NOT NULL
