SELECT phase.workflow FROM run JOIN phase ON phase.id = run.phase WHERE run.id = :run
