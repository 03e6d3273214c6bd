-- name: gpu_put
-- A GPU of a run.
INSERT INTO gpu (run, node, number, model, uuid, memory_mib)
VALUES (:run, :node, :number, :model, :uuid, :memory_mib)
    ON CONFLICT (run, node, number)
    DO UPDATE SET model = :model, uuid = :uuid, memory_mib = :memory_mib;

-- name: gpu_idle_add
-- Adds the seconds for which the use of a GPU is known.
UPDATE gpu
   SET sampled = sampled + :seconds, idle = idle + CASE WHEN :util < 5 THEN :seconds ELSE 0 END
 WHERE run = :run AND node = :node AND number = :number;

-- name: gpus_answer
-- The GPUs of a run, and the newest sample of each.
SELECT gpu.node, gpu.number AS gpu, gpu.model, gpu.uuid, gpu.memory_mib AS memory_total_mib,
       gpu.sampled, gpu.idle,
       newest.time / 1000.0 AS time, newest.seconds,
       newest.util, newest.memory_util, newest.memory_mib, newest.power_w,
       newest.temperature_c, newest.memory_temperature_c, newest.sm_clock_mhz,
       newest.memory_clock_mhz, newest.clock_reasons, newest.ecc_corrected,
       newest.ecc_uncorrected, newest.xid, newest.sm_active, newest.tensor_active,
       newest.dram_active
  FROM gpu
  LEFT JOIN sample AS newest
    ON newest.gpu = gpu.id
   AND (newest.seconds, newest.time) =
       (SELECT seconds, time
          FROM (SELECT 10 AS seconds,
                       (SELECT max(time) FROM sample
                         WHERE sample.gpu = gpu.id AND seconds = 10) AS time
                UNION ALL
                SELECT 60, (SELECT max(time) FROM sample
                             WHERE sample.gpu = gpu.id AND seconds = 60))
         WHERE time IS NOT NULL
         ORDER BY time DESC
         LIMIT 1)
 WHERE gpu.run = :run
 ORDER BY gpu.node, gpu.number
 LIMIT 1024;

-- name: gpus_history
-- How busy the GPUs of a run were over time, in parts of equal length: the mean of at most four
-- samples of each part. The query steps from sample to sample, because a long run has millions.
WITH RECURSIVE device AS MATERIALIZED (
    SELECT id, node, number FROM gpu WHERE run = :run ORDER BY node, number LIMIT 256
), kind AS MATERIALIZED (
    SELECT seconds,
           (SELECT min(time) FROM sample
             WHERE sample.gpu = device.id AND sample.seconds = length.seconds) AS first,
           (SELECT max(time) FROM sample
             WHERE sample.gpu = device.id AND sample.seconds = length.seconds) AS last
      FROM device, (SELECT 10 AS seconds UNION ALL SELECT 60) AS length
), span AS MATERIALIZED (
    SELECT min(first) AS first, max(last) AS last,
           max((max(last) - min(first)) / :parts + 1, 1000 * max(seconds)) AS width
      FROM kind
     WHERE first NOT NULL
), slot (n, first, last) AS (
    SELECT 0, first, first + width / 4 FROM span WHERE first NOT NULL
    UNION ALL
    SELECT n + 1, span.first + (n + 1) * width / 4, span.first + (n + 2) * width / 4
      FROM slot, span
     WHERE span.first + (n + 1) * width / 4 <= span.last
)
SELECT device.node, device.number AS gpu, span.first / 1000.0 AS first,
       span.width / 1000.0 AS seconds,
       avg(ifnull((SELECT util FROM sample
                    WHERE sample.gpu = device.id AND sample.seconds = 10
                      AND time >= slot.first AND time < slot.last
                    ORDER BY time LIMIT 1),
                  (SELECT util FROM sample
                    WHERE sample.gpu = device.id AND sample.seconds = 60
                      AND time >= slot.first AND time < slot.last
                    ORDER BY time LIMIT 1))) AS util
  FROM device, slot, span
 GROUP BY device.id, slot.n / 4
 ORDER BY device.node, device.number, slot.n;

-- name: sample_put
-- What a GPU did in a second, in ten seconds or in a minute.
INSERT OR REPLACE INTO sample (gpu, seconds, time,
       util, memory_util, memory_mib, power_w, temperature_c, memory_temperature_c,
       sm_clock_mhz, memory_clock_mhz, clock_reasons, ecc_corrected, ecc_uncorrected, xid,
       sm_active, tensor_active, dram_active)
SELECT id, :seconds, :time,
       :util, :memory_util, :memory_mib, :power_w, :temperature_c, :memory_temperature_c,
       :sm_clock_mhz, :memory_clock_mhz, :clock_reasons, :ecc_corrected, :ecc_uncorrected,
       :xid, :sm_active, :tensor_active, :dram_active
  FROM gpu
 WHERE run = :run AND node = :node AND number = :number;

-- name: sample_oldest
-- The time of one of the oldest samples shorter than a minute.
SELECT time
  FROM sample
 WHERE seconds < 60 AND time < :before
 ORDER BY time
 LIMIT 1 OFFSET :count;

-- name: sample_coarsen
-- Makes minutes out of samples of ten seconds. A minute that the agent wrote itself stays. The
-- condition "seconds < 60" selects the index.
INSERT OR IGNORE INTO sample (gpu, seconds, time,
       util, memory_util, memory_mib, power_w, temperature_c, memory_temperature_c,
       sm_clock_mhz, memory_clock_mhz, clock_reasons, ecc_corrected, ecc_uncorrected, xid,
       sm_active, tensor_active, dram_active)
SELECT gpu, 60, time - time % 60000,
       CAST(round(avg(util)) AS INTEGER), CAST(round(avg(memory_util)) AS INTEGER),
       max(memory_mib), CAST(round(avg(power_w)) AS INTEGER), max(temperature_c),
       max(memory_temperature_c), CAST(round(avg(sm_clock_mhz)) AS INTEGER),
       CAST(round(avg(memory_clock_mhz)) AS INTEGER),
       max(clock_reasons & 1) | max(clock_reasons & 2) | max(clock_reasons & 4) |
           max(clock_reasons & 8) | max(clock_reasons & 16) | max(clock_reasons & 32) |
           max(clock_reasons & 64) | max(clock_reasons & 128) | max(clock_reasons & 256),
       max(ecc_corrected), max(ecc_uncorrected), max(xid),
       CAST(round(avg(sm_active)) AS INTEGER), CAST(round(avg(tensor_active)) AS INTEGER),
       CAST(round(avg(dram_active)) AS INTEGER)
  FROM sample
 WHERE seconds < 60 AND time < :before AND seconds = 10
 GROUP BY gpu, time - time % 60000;

-- name: sample_drop
-- Drops old samples shorter than a minute.
DELETE FROM sample
 WHERE seconds < 60 AND time < :before;

-- name: pace_put
-- The pace of a node: its newest step time, and all its steps and seconds.
INSERT INTO pace (run, node, step, step_seconds, steps, seconds, time)
VALUES (:run, :node, :step, :seconds / :steps, :steps, :seconds, :time)
    ON CONFLICT (run, node)
    DO UPDATE SET step = :step, step_seconds = :seconds / :steps,
                  steps = min(steps, (1 << 53)) + :steps, seconds = seconds + :seconds,
                  time = :time;

-- name: paces_answer
-- The pace of each node of a run, and when the node was at its step. A run that has ended has made
-- its last step on all nodes before its end.
SELECT pace.node,
       CASE WHEN run.state = 'ended' AND run.last_step > pace.step
            THEN run.last_step ELSE pace.step END AS step,
       pace.step_seconds, pace.seconds / pace.steps AS mean_step_seconds,
       CASE WHEN run.state = 'ended' AND run.last_step > pace.step
            THEN run.ended ELSE pace.time END / 1000.0 AS time
  FROM pace
  JOIN run ON run.id = pace.run
 WHERE pace.run = :run
 ORDER BY node
 LIMIT 1024;
