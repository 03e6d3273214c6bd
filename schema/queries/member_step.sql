-- The last step of the reused results, up to the rung that the member has reached.
SELECT max(run.last_step)
  FROM phase
  JOIN member ON member.phase = phase.id
  JOIN run ON run.phase = member.reused AND run.rung <= min(member.reused_rung, phase.rung)
 WHERE phase.id = :phase
