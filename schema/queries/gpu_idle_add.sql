-- A GPU told how busy it was for so many seconds.
UPDATE gpu
   SET sampled = sampled + :seconds, idle = idle + CASE WHEN :util < 5 THEN :seconds ELSE 0 END
 WHERE run = :run AND node = :node AND number = :number
