UPDATE notice SET tries = tries + 1, due = :due WHERE id = :notice
