INSERT INTO event (time, workflow, phase, run, type, from_state, to_state, message)
VALUES (:time, :workflow, :phase, :run, :type, :from_state, :to_state, :message)
