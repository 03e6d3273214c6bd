INSERT OR REPLACE INTO journal_gap (run, node, first_seq, last_seq)
VALUES (:run, :node, :first_seq, :last_seq)
