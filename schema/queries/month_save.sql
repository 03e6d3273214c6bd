INSERT INTO month (month, budget, told) VALUES (:month, :budget, :told)
    ON CONFLICT (month) DO UPDATE SET budget = excluded.budget, told = excluded.told
