SELECT phase.spec, workflow.environment, workflow.limits, workflow.workdir, workflow.umask,
       (SELECT json_group_array(DISTINCT json_extract(change.value, '$.param'))
          FROM run
          JOIN remedy ON remedy.run = run.id
          JOIN json_each(remedy.changes) AS change
         WHERE run.phase = phase.id)
  FROM phase
  JOIN workflow ON workflow.id = phase.workflow
 WHERE phase.id = :phase
