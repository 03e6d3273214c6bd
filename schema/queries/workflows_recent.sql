-- First the workflows that wait for a person, then the others that are not over, then those that
-- ended last. The newest workflow comes first in each group. The query reads the indexes, because a
-- row of the tables is large. A negative limit means no limit.
SELECT id
  FROM (SELECT *
          FROM (SELECT DISTINCT 0 AS place, workflow AS id, workflow AS newest
                  FROM phase INDEXED BY phase_held
                 WHERE state = 'held'
                 ORDER BY workflow DESC
                 LIMIT :limit)
        UNION ALL
        SELECT *
          FROM (SELECT 1, id, id
                  FROM workflow INDEXED BY workflow_ended
                 WHERE ended IS NULL
                   AND NOT EXISTS (SELECT 1
                                     FROM phase INDEXED BY phase_held
                                    WHERE phase.workflow = workflow.id AND state = 'held')
                 ORDER BY id DESC
                 LIMIT :limit)
        UNION ALL
        SELECT *
          FROM (SELECT 2, id, ended
                  FROM workflow INDEXED BY workflow_ended
                 WHERE ended >= :since
                 ORDER BY ended DESC
                 LIMIT :ended_limit))
 ORDER BY place, newest DESC
 LIMIT :limit
