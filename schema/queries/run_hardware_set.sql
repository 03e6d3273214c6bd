UPDATE run SET gpu = :gpu, by_gpu = :by_gpu WHERE id = :run
