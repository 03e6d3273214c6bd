DELETE FROM verdict WHERE run = :run AND kind = 'gate'
