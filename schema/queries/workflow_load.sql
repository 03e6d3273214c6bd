SELECT name, submitted, ended FROM workflow WHERE id = :id
