-- name: remedy_insert
-- The changes of params before a run. They are later than all changes so far, however the clock was
-- set.
INSERT INTO remedy (run, cause, number, times, resume, changes, time)
VALUES (:run, :cause, :number, :times, :resume, :changes,
        max(:time, ifnull((SELECT time + 1 FROM remedy ORDER BY id DESC LIMIT 1), 0),
            ifnull((SELECT time + 1 FROM choice ORDER BY id DESC LIMIT 1), 0)));

-- name: choice_insert
-- The params that a matrix has chosen for a phase. These changes are later than all changes so far,
-- however the clock was set.
INSERT INTO choice (phase, changes, time)
VALUES (:phase, :changes,
        max(:time, ifnull((SELECT time + 1 FROM remedy ORDER BY id DESC LIMIT 1), 0),
            ifnull((SELECT time + 1 FROM choice ORDER BY id DESC LIMIT 1), 0)));

-- name: changes_list
-- All changes of params in a workflow so far, in the order in which they are applied.
SELECT name, changes
  FROM (SELECT phase.name, remedy.changes, remedy.time, 0 AS place, remedy.id
          FROM phase
          JOIN run ON run.phase = phase.id
          JOIN remedy ON remedy.run = run.id
         WHERE phase.workflow = :workflow
        UNION ALL
        SELECT phase.name, choice.changes, choice.time, 1, choice.id
          FROM phase
          JOIN choice ON choice.phase = phase.id
         WHERE phase.workflow = :workflow)
 ORDER BY time, place, id;
