-- Workflows that are not over, and workflows with pending effects.
SELECT id FROM workflow WHERE ended IS NULL
UNION
SELECT workflow FROM outbox
