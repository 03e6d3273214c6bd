INSERT OR REPLACE INTO sample (gpu, seconds, time,
       util, memory_util, memory_mib, power_w, temperature_c, memory_temperature_c,
       sm_clock_mhz, memory_clock_mhz, clock_reasons, ecc_corrected, ecc_uncorrected, xid,
       sm_active, tensor_active, dram_active)
SELECT id, :seconds, :time,
       :util, :memory_util, :memory_mib, :power_w, :temperature_c, :memory_temperature_c,
       :sm_clock_mhz, :memory_clock_mhz, :clock_reasons, :ecc_corrected, :ecc_uncorrected,
       :xid, :sm_active, :tensor_active, :dram_active
  FROM gpu
 WHERE run = :run AND node = :node AND number = :number
