SELECT max(run.id) FROM run WHERE run.phase = :phase
   AND EXISTS (SELECT 1 FROM verdict WHERE verdict.run = run.id AND verdict.kind = 'gate')
