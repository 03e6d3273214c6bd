DELETE FROM sample
 WHERE seconds < 60 AND time < :before
