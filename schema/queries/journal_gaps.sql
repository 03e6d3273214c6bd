-- Gaps in the journals of a run, without the gaps whose steps all came after the step from which
-- the next run resumed.
SELECT run.attempt, journal_gap.node, journal_gap.first_seq, journal_gap.last_seq
  FROM journal_gap
  JOIN run ON run.id = journal_gap.run
 WHERE journal_gap.run = :run AND ifnull(journal_gap.after_step, -1) <= :step_max
 ORDER BY journal_gap.node, journal_gap.first_seq
