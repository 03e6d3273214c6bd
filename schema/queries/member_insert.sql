INSERT INTO member (phase, matrix, number, params, fingerprint, reused, reused_rung)
VALUES (:phase, :matrix, :number, :params, :fingerprint, :reused, :reused_rung)
