SELECT sequence FROM journal WHERE run = :run AND node = :node
