SELECT run.attempt, journal_gap.node, journal_gap.first_seq, journal_gap.last_seq
  FROM journal_gap
  JOIN run ON run.id = journal_gap.run
 WHERE journal_gap.run = :run
 ORDER BY journal_gap.node, journal_gap.first_seq
