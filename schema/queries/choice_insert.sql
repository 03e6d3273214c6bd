INSERT INTO choice (phase, changes, time) VALUES (:phase, :changes, :time)
