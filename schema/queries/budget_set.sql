UPDATE workflow SET budget = :budget, budget_told = 0 WHERE id = :workflow
