SELECT id, token, slot FROM seat WHERE workflow = :workflow ORDER BY id
