INSERT INTO journal (run, node, sequence) VALUES (:run, :node, :sequence)
ON CONFLICT (run, node) DO UPDATE SET sequence = excluded.sequence
