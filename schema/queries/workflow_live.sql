-- Those that are not over, and those for which something is still to be done.
SELECT id FROM workflow WHERE ended IS NULL
UNION
SELECT workflow FROM outbox
