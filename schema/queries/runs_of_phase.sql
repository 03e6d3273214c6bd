SELECT id FROM run WHERE phase = :phase ORDER BY attempt DESC
