-- The month's budget. If the month has no budget yet, the budget of the newest month before it.
SELECT budget, month = :month AND told FROM month WHERE month <= :month ORDER BY month DESC LIMIT 1
