-- The last step of results that were taken, as far as the member has come.
SELECT max(run.last_step)
  FROM phase
  JOIN member ON member.phase = phase.id
  JOIN run ON run.phase = member.reused AND run.rung <= min(member.reused_rung, phase.rung)
 WHERE phase.id = :phase
