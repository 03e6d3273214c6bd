SELECT phase.spec, workflow.environment, workflow.limits, workflow.workdir, workflow.umask
  FROM phase
  JOIN workflow ON workflow.id = phase.workflow
 WHERE phase.id = :phase
