SELECT (SELECT max(id) FROM workflow), (SELECT max(id) FROM phase), (SELECT max(id) FROM run),
       (SELECT max(id) FROM seat), (SELECT max(id) FROM job)
