-- name: workflow_insert
-- A submitted workflow.
INSERT INTO workflow (id, name, submitted, ended, key, file, workdir, host, umask, limits,
                      overrides, resolved, environment, spec, priority, after, window_from,
                      window_to)
VALUES (:id, :name, :submitted, :ended, :key, :file, :workdir, :host, :umask, :limits,
        :overrides, :resolved, :environment, :spec, :priority, :after, :window_from, :window_to);

-- name: workflow_load
-- A workflow for the model.
SELECT name, submitted, ended, priority, after, window_from, window_to
  FROM workflow
 WHERE id = :id;

-- name: workflow_save
-- Saves what changes in a workflow.
UPDATE workflow SET ended = :ended WHERE id = :id;

-- name: workflow_find_key
-- The workflow that was submitted with this key.
SELECT id AS workflow FROM workflow WHERE key = :key;

-- name: workflow_live
-- Workflows that are not over, and workflows with pending effects.
SELECT id AS workflow FROM workflow WHERE ended IS NULL
UNION
SELECT workflow FROM outbox;

-- name: workflow_state
-- The state of a workflow, which follows from its phases.
SELECT state, (SELECT ended FROM workflow WHERE id = :workflow) AS ended
  FROM v_workflow
 WHERE workflow = :workflow;

-- name: workflow_answer
-- A workflow without its phases.
SELECT workflow.id AS workflow, workflow.name, v_workflow.state,
       workflow.submitted / 1000.0 AS submitted, workflow.ended / 1000.0 AS ended,
       workflow.file, workflow.workdir,
       ifnull(json_extract(workflow.resolved, '$.variants'), '[]') AS "variants{}",
       ifnull(workflow.overrides, '{}') AS "set{}",
       ifnull(workflow.budget, json_extract(workflow.resolved, '$.budget')) AS "budget{}",
       provenance.commit_id AS "commit", provenance.branch,
       CASE WHEN provenance.commit_id IS NOT NULL
            THEN provenance.diff IS NULL OR provenance.diff <> ''
                 OR ifnull(provenance.untracked, '') <> '' END AS "changed?",
       provenance.snapshot
  FROM v_workflow
  JOIN workflow ON workflow.id = v_workflow.workflow
  LEFT JOIN provenance ON provenance.workflow = workflow.id
 WHERE v_workflow.workflow = :workflow;

-- name: workflow_place
-- The group of workflows_list that a workflow is in, and the time at which it ended.
SELECT CASE WHEN ended NOT NULL THEN 2
            WHEN EXISTS (SELECT 1 FROM phase INDEXED BY phase_held
                          WHERE phase.workflow = workflow.id AND state = 'held') THEN 0
            ELSE 1 END AS place, ended
  FROM workflow
 WHERE id = :workflow;

-- name: workflows_list
-- First the workflows that wait for a person, then the others that are not over, then those that
-- are over. The newest workflow comes first, and in the last group the workflow that ended last.
-- Each group begins after the workflow that `before` names for it. The query reads the indexes,
-- because a row of the tables is large. A negative limit means no limit, and NULL means any state
-- and any words.
SELECT id
  FROM (SELECT *
          FROM (SELECT DISTINCT 0 AS place, workflow AS id, workflow AS newest
                  FROM phase INDEXED BY phase_held
                 WHERE state = 'held' AND workflow < :held_before
                   AND (:words IS NULL
                        OR (SELECT instr(words, lower(:words))
                              FROM workflow WHERE id = phase.workflow))
                   AND (:state IS NULL
                        OR :state = 'held'
                        OR (:state = 'running'
                            AND EXISTS (SELECT 1 FROM phase AS other
                                         WHERE other.workflow = phase.workflow
                                           AND state IN ('queued', 'active', 'deciding'))))
                 ORDER BY workflow DESC
                 LIMIT :limit)
        UNION ALL
        SELECT *
          FROM (SELECT 1, id, id
                  FROM workflow INDEXED BY workflow_ended
                 WHERE ended IS NULL AND id < :live_before
                   AND (:words IS NULL OR instr(words, lower(:words)))
                   AND (:state IS NULL OR :state = 'running')
                   AND NOT EXISTS (SELECT 1
                                     FROM phase INDEXED BY phase_held
                                    WHERE phase.workflow = workflow.id AND state = 'held')
                 ORDER BY id DESC
                 LIMIT :limit)
        UNION ALL
        SELECT *
          FROM (SELECT 2, id, ended
                  FROM workflow INDEXED BY workflow_ended
                 WHERE ended >= :since AND (ended, id) < (:ended_before, :before)
                   AND (:words IS NULL OR instr(words, lower(:words)))
                   AND (:state IS NULL
                        OR :state = ifnull((SELECT max(state) FROM phase INDEXED BY phase_failed
                                             WHERE phase.workflow = workflow.id
                                               AND state IN ('failed', 'cancelled')
                                               AND NOT EXISTS (SELECT 1
                                                                 FROM member
                                                                WHERE member.phase = phase.id)),
                                           'succeeded'))
                 ORDER BY ended DESC, id DESC
                 LIMIT :ended_limit))
 ORDER BY place, newest DESC, id DESC
 LIMIT :limit;

-- name: workflows_count
-- The number of workflows that workflows_list lists without limits.
SELECT (SELECT count(*) FROM workflow INDEXED BY workflow_ended WHERE ended IS NULL)
     + (SELECT count(*) FROM workflow INDEXED BY workflow_ended WHERE ended >= :since) AS count;

-- name: provenance_insert
-- The commit and the environment that a workflow was submitted from.
INSERT INTO provenance (workflow, root, commit_id, branch, diff, diff_note, untracked, packages,
                        snapshot)
VALUES (:workflow, :root, :commit_id, :branch, :diff, :diff_note, :untracked, :packages, :snapshot);

-- name: source_load
-- The submitted file, from which other params are resolved.
SELECT file, spec, overrides, json_extract(resolved, '$.variants') AS variants
  FROM workflow
 WHERE id = :workflow;

-- name: source_answer
-- Everything that was submitted with a workflow.
SELECT workflow.id AS workflow, workflow.name, workflow.submitted / 1000.0 AS submitted,
       workflow.file, workflow.workdir, workflow.host, workflow.umask,
       workflow.limits AS "limits{}", ifnull(workflow.overrides, '{}') AS "set{}",
       ifnull(json_extract(workflow.resolved, '$.variants'), '[]') AS "variants{}",
       workflow.priority, workflow.after,
       CASE WHEN workflow.window_from <> workflow.window_to
            THEN printf('%02d:%02d-%02d:%02d', workflow.window_from / 60, workflow.window_from % 60,
                        workflow.window_to / 60, workflow.window_to % 60) END AS window,
       provenance.root, provenance.commit_id AS "commit", provenance.branch, provenance.diff,
       provenance.diff_note, provenance.untracked, provenance.packages, provenance.snapshot,
       workflow.environment AS "environment{}", workflow.spec
  FROM workflow
  LEFT JOIN provenance ON provenance.workflow = workflow.id
 WHERE workflow.id = :workflow;
