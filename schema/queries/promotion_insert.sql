INSERT INTO promotion (phase, next, run, decided_by, message, way, time)
VALUES (:phase, :next, :run, :decided_by, :message, :way, :time)
