-- The members, each with its newest run.
SELECT phase.id,
       (SELECT id FROM run WHERE run.phase = phase.id ORDER BY attempt DESC LIMIT 1),
       phase.workflow
  FROM member
  JOIN phase ON phase.id = member.phase
 WHERE member.matrix = :matrix
 ORDER BY member.number
