UPDATE workflow SET budget_told = 1 WHERE id = :workflow
