-- What is said of a seat never changes.
INSERT OR IGNORE INTO seat (id, workflow, token, slot)
VALUES (:id, :workflow, :token, :slot)
