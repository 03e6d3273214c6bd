-- The month's budget; while the month has none yet, that of the newest one before it.
SELECT budget, month = :month AND told FROM month WHERE month <= :month ORDER BY month DESC LIMIT 1
