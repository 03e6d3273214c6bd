INSERT INTO node_health (node, cause, run, message, since, until, count)
VALUES (:node, :cause, :run, :message, :since, :until, :count)
