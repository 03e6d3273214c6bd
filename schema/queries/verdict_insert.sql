INSERT INTO verdict (run, kind, time, name, outcome, warn, value, bounds, reason, verdict)
VALUES (:run, :kind, :time, :name, :outcome, :warn, :value, :bounds, :reason, :verdict)
