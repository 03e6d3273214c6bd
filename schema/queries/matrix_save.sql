UPDATE matrix SET best = :best WHERE phase = :phase
