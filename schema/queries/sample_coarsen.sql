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
 GROUP BY gpu, time - time % 60000
