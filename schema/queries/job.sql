-- name: job_save
-- An allocation, new or changed. If it is for one of several types of GPUs, it has the price of
-- that type.
INSERT INTO job (id, workflow, token, seat, gpu_type, slurm_id, state, reason, nodes, node_count,
                 gpus_per_node, time_s, over, restarts, submitted, started, ended, absent_since,
                 usd_per_gpu_hour)
VALUES (:id, :workflow, :token, :seat, :gpu_type, :slurm_id, :state, :reason, :nodes, :node_count,
        :gpus_per_node, :time_s, :over, :restarts, :submitted, :started, :ended, :absent_since,
        CASE WHEN :gpu_type NOT NULL
             THEN (SELECT coalesce(json_extract(resolved, '$.price.per_gpu_hour'),
                                   json_extract(resolved, '$.price.by_gpu."' || :gpu_type || '"'))
                     FROM workflow
                    WHERE id = :workflow) END)
ON CONFLICT (id) DO UPDATE
   SET gpu_type = excluded.gpu_type, usd_per_gpu_hour = excluded.usd_per_gpu_hour,
       slurm_id = excluded.slurm_id, state = excluded.state, reason = excluded.reason,
       nodes = excluded.nodes, time_s = excluded.time_s, over = excluded.over,
       restarts = excluded.restarts, submitted = excluded.submitted, started = excluded.started,
       ended = excluded.ended, absent_since = excluded.absent_since;

-- name: job_load
-- The allocations of a workflow for the model.
SELECT id, token, seat, gpu_type, slurm_id, state, reason, nodes, node_count, gpus_per_node, time_s,
       over, restarts, submitted, started, ended, absent_since,
       EXISTS (SELECT 1 FROM outbox WHERE kind = 'cancel-job' AND target = job.id) AS cancelled
  FROM job
 WHERE workflow = :workflow
 ORDER BY id;

-- name: job_find_token
-- The workflow of the job with this token.
SELECT workflow FROM job WHERE token = :token;

-- name: seat_save
-- A new seat. A seat never changes.
INSERT OR IGNORE INTO seat (id, workflow, token, slot)
VALUES (:id, :workflow, :token, :slot);

-- name: seat_load
-- The seats of a workflow for the model.
SELECT id, token, slot FROM seat WHERE workflow = :workflow ORDER BY id;
