-- What a run was stopped for, or warned of.
SELECT verdict FROM verdict
 WHERE run = :run AND kind = 'guard' AND outcome <> 'passed'
 ORDER BY id LIMIT 20
