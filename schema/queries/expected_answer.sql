-- Phases with an expected cost, and the cost of all their runs. A matrix has the cost of its
-- members. Time in which several members ran side by side counts once.
SELECT phase.name AS phase, json_extract(phase.spec, '$.expect') AS "expect{}",
       total(CASE WHEN matrix.parallel THEN cost.paid_seconds ELSE cost.seconds END) / 3600 AS hours,
       total(cost.gpu_hours) AS gpu_hours, sum(cost.usd) AS usd
  FROM phase
  LEFT JOIN matrix ON matrix.phase = phase.id
  LEFT JOIN (SELECT ifnull(member.matrix, v_cost.phase) AS phase, v_cost.seconds,
                    v_cost.paid_seconds, v_cost.gpu_hours, v_cost.usd
               FROM v_cost
               LEFT JOIN member ON member.phase = v_cost.phase
              WHERE v_cost.workflow = :workflow) AS cost ON cost.phase = phase.id
 WHERE phase.workflow = :workflow AND json_extract(phase.spec, '$.expect') IS NOT NULL
 GROUP BY phase.id
 ORDER BY phase.position
