UPDATE notice SET done = :now WHERE id = :notice
