INSERT OR REPLACE INTO preflight
       (run, node, level, observed, outcome, reason, lasted, time)
VALUES (:run, :node, :level, :observed, :outcome, :reason, :lasted, :time)
