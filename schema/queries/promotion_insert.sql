INSERT INTO promotion (phase, next, run, decided_by, who, way, time)
VALUES (:phase, :next, :run, :decided_by, :who, :way, :time)
