-- The first of several steps counts.
UPDATE run SET suspect_step = min(ifnull(suspect_step, :step), :step) WHERE id = :run
