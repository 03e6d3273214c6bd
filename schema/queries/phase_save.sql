-- Does not change what comes from the spec. phase_replan does.
UPDATE phase
   SET state = :state, hold = :hold, reason = :reason, overridden = :overridden,
       checkpoint_path = :checkpoint_path, checkpoint_step = :checkpoint_step, anew = :anew,
       attempts = :attempts, failures = :failures, losses = :losses, stalls = :stalls,
       remedies = :remedies, remedy = :remedy, rung = :rung
 WHERE id = :id
