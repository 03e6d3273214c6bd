UPDATE workflow SET name = :name, submitted = :submitted, ended = :ended WHERE id = :id
