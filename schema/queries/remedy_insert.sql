INSERT INTO remedy (run, cause, number, times, resume, changes, time)
VALUES (:run, :cause, :number, :times, :resume, :changes, :time)
