SELECT id FROM workflow WHERE key = :key
