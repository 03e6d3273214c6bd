SELECT workflow FROM job WHERE token = :token
