INSERT INTO provenance (workflow, root, commit_id, branch, diff, diff_note, untracked, packages,
                        snapshot)
VALUES (:workflow, :root, :commit_id, :branch, :diff, :diff_note, :untracked, :packages, :snapshot)
