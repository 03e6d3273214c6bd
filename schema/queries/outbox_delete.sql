DELETE FROM outbox WHERE kind = :kind AND target = :target
