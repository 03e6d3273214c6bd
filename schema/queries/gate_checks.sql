SELECT verdict FROM verdict WHERE run = :run AND kind = 'gate' ORDER BY id
