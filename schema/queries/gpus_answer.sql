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
                       (SELECT max(time) FROM sample WHERE sample.gpu = gpu.id AND seconds = 10) AS time
                UNION ALL
                SELECT 60, (SELECT max(time) FROM sample WHERE sample.gpu = gpu.id AND seconds = 60))
         WHERE time IS NOT NULL
         ORDER BY time DESC
         LIMIT 1)
 WHERE gpu.run = :run
 ORDER BY gpu.node, gpu.number
 LIMIT 1024
