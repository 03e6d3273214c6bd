UPDATE run SET secret = :secret WHERE id = :run
