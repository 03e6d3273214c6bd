INSERT OR REPLACE INTO evidence (run, node, time, silent, summary, evidence)
VALUES (:run, :node, :time, :silent, :summary, :evidence)
