-- The checks of guards that stopped or warned a run.
SELECT verdict FROM verdict
 WHERE run = :run AND kind = 'guard' AND outcome <> 'passed'
 ORDER BY id LIMIT 20
