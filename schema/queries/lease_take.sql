INSERT OR REPLACE INTO lease (id, owner, pid, host, since)
VALUES (1, :owner, :pid, :host, CAST(strftime('%s') AS INTEGER) * 1000)
