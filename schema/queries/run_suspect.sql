-- If there are several steps, the first one counts.
UPDATE run SET suspect_step = min(ifnull(suspect_step, :step), :step) WHERE id = :run
