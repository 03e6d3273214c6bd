-- Adds the seconds for which the use of a GPU is known.
UPDATE gpu
   SET sampled = sampled + :seconds, idle = idle + CASE WHEN :util < 5 THEN :seconds ELSE 0 END
 WHERE run = :run AND node = :node AND number = :number
