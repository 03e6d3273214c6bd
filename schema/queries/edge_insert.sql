INSERT INTO edge (phase, position, after) VALUES (:phase, :position, :after)
