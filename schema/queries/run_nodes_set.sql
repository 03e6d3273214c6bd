UPDATE run SET nodes = :nodes WHERE id = :run
