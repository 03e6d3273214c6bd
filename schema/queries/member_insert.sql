INSERT INTO member (phase, matrix, number, params) VALUES (:phase, :matrix, :number, :params)
