INSERT INTO failure (run, name, cause, line, rank, node, advice, blame)
VALUES (:run, :name, :cause, :line, :rank, :node, :advice, :blame)
ON CONFLICT (run) DO UPDATE
   SET name = excluded.name, cause = excluded.cause, line = excluded.line, rank = excluded.rank,
       node = excluded.node, advice = excluded.advice, blame = excluded.blame
