-- name: journal_set
-- The last entry that was read from a journal.
INSERT INTO journal (run, node, sequence) VALUES (:run, :node, :sequence)
ON CONFLICT (run, node) DO UPDATE SET sequence = excluded.sequence;

-- name: journal_get
-- The last entry that was read from a journal.
SELECT sequence FROM journal WHERE run = :run AND node = :node;

-- name: journal_gap_put
-- Entries that are missing in a journal, after the newest step that the run had reported.
INSERT OR REPLACE INTO journal_gap (run, node, first_seq, last_seq, after_step)
VALUES (:run, :node, :first_seq, :last_seq, (SELECT max(step) FROM metric WHERE run = :run));

-- name: journal_gaps
-- Gaps in the journals of a run, without the gaps whose steps all came after the step from which
-- the next run resumed.
SELECT run.attempt, journal_gap.node, journal_gap.first_seq, journal_gap.last_seq
  FROM journal_gap
  JOIN run ON run.id = journal_gap.run
 WHERE journal_gap.run = :run AND ifnull(journal_gap.after_step, -1) <= :step_max
 ORDER BY journal_gap.node, journal_gap.first_seq;
