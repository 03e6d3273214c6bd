# For tests of processes.

# Whether a process has ended. The kernel is asked for its state: `kill -0` succeeds until the parent
# of the process has reaped it.
process_has_ended() { ! grep -qs '^State:[[:space:]]*[^Z[:space:]]' "/proc/$1/status"; }
