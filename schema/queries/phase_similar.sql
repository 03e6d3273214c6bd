-- How long the runs of similar phases took in total, if they succeeded: same names, same variants,
-- same GPUs, same number of steps. The newest 20.
SELECT count(*), avg(seconds)
  FROM (SELECT sum(run.ended - run.started) / 1000.0 AS seconds
          FROM workflow
          JOIN phase ON phase.workflow = workflow.id
          JOIN run ON run.phase = phase.id
         WHERE workflow.name = :workflow AND phase.name = :phase AND phase.state = 'succeeded'
           AND ifnull(json_extract(workflow.resolved, '$.variants'), '[]') = :variants
           AND phase.nodes = :nodes AND phase.gpus_per_node = :gpus AND phase.gpu_type IS :gpu_type
           AND phase.total IS :total AND run.started IS NOT NULL AND run.ended IS NOT NULL
         GROUP BY phase.id
         ORDER BY phase.id DESC
         LIMIT 20)
