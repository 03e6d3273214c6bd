# For tests of processes and folders.

# Whether a test has made the folder. If a setup has failed or skipped the test, the variable of a
# folder is empty, or somebody's own: nothing there may be killed or removed.
is_of_test() { [[ $1 = /tmp/phased-?* ]]; }

# Whether a process has ended. The kernel is asked for its state: `kill -0` succeeds until the parent
# of the process has reaped it.
process_has_ended() { ! grep -qs '^State:[[:space:]]*[^Z[:space:]]' "/proc/$1/status"; }
