INSERT OR REPLACE INTO preflight_row (run, node, position, name, outcome, text)
VALUES (:run, :node, :position, :name, :outcome, :text)
