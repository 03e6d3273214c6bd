INSERT INTO matrix (phase, lanes, rungs) VALUES (:phase, :lanes, :rungs)
