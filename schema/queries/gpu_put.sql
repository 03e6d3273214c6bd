INSERT INTO gpu (run, node, number, model, uuid, memory_mib)
VALUES (:run, :node, :number, :model, :uuid, :memory_mib)
    ON CONFLICT (run, node, number)
    DO UPDATE SET model = :model, uuid = :uuid, memory_mib = :memory_mib
