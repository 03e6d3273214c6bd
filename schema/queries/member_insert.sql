INSERT INTO member (phase, matrix, number, params, fingerprint, reused)
VALUES (:phase, :matrix, :number, :params, :fingerprint, :reused)
