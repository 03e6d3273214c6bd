INSERT INTO matrix (phase, lanes, parallel, rungs) VALUES (:phase, :lanes, :parallel, :rungs)
