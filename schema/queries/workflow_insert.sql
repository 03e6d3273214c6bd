INSERT INTO workflow (id, name, submitted, ended, key, file, workdir, host, umask, limits,
                      overrides, resolved, environment, spec)
VALUES (:id, :name, :submitted, :ended, :key, :file, :workdir, :host, :umask, :limits,
        :overrides, :resolved, :environment, :spec)
