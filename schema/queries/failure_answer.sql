SELECT name, line, rank, node, advice, blame FROM failure WHERE run = :run
