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
 WHERE workflow.id = :workflow
