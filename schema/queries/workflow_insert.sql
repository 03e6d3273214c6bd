INSERT INTO workflow (id, name, submitted, ended, key, file, workdir, host, umask, limits,
                      overrides, resolved, environment, spec, priority, after, window_from,
                      window_to)
VALUES (:id, :name, :submitted, :ended, :key, :file, :workdir, :host, :umask, :limits,
        :overrides, :resolved, :environment, :spec, :priority, :after, :window_from, :window_to)
