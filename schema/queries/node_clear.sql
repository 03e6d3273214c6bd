UPDATE node_health SET cleared = :now
 WHERE node = :node AND cleared IS NULL AND ifnull(until > :now, 1)
