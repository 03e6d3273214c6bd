INSERT OR REPLACE INTO journal_gap (run, node, first_seq, last_seq, after_step)
VALUES (:run, :node, :first_seq, :last_seq, (SELECT max(step) FROM metric WHERE run = :run))
