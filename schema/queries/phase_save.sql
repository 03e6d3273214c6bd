-- What the spec says never changes.
UPDATE phase
   SET state = :state, hold = :hold, reason = :reason, overridden = :overridden,
       checkpoint_path = :checkpoint_path, checkpoint_step = :checkpoint_step,
       attempts = :attempts, failures = :failures, losses = :losses, stalls = :stalls
 WHERE id = :id
