# Shared by the bats files about the daemon as a job. Load it after phased.bash.

# ping MEMBER: a member of the daemon's answer to a ping.
ping() { phasectl daemon status --json 2>/dev/null | gojq -r ".$1"; }

# start_as_job [-- OPTION...]: returns when the daemon serves. `start` itself waits only 15 seconds for
# that.
start_as_job() {
    phasectl daemon start --as-job "$@" >"$PHASED_HOME/said"
    eventually 60 is_served
}

is_served() { [[ $(ping job) =~ ^[0-9]+$ ]]; }
serves_as() { [ "$(ping job)" = "$1" ]; }
serves_as_another_than() { local job; job=$(ping job) && [[ $job =~ ^[0-9]+$ ]] && [ "$job" != "$1" ]; }

# The number of jobs in the queue that are daemons of some home of this sandbox.
daemon_jobs() { squeue -h -n phased-daemon -t PENDING,RUNNING,SUSPENDED -o %A | wc -l; }
is_alone() { [ "$(daemon_jobs)" = "$1" ]; }

job_in_state() { [ "$(squeue -h -j "$1" -o %T 2>/dev/null)" = "$2" ]; }
job_has_ended() { ! squeue -h -j "$1" -t PENDING,RUNNING,COMPLETING,SUSPENDED 2>/dev/null | grep -q .; }

said() { grep -qE "$1" "$PHASED_HOME/said"; }
tells() { [[ $(phasectl daemon status 2>&1) =~ $1 ]]; }

# Prints a step each 100 ms until the test says go.
counter() {
    cat <<'SPEC'
name: counter
phases:
  count:
    resources: {nodes: 1, gpus: h100:1, time: 20m}
    launch: node
    run: |
      echo "$SLURM_JOB_ID" >>"$PHASED_OUT/executed"
      for ((step = 1; ; step++)); do
        echo "step=$step loss=1.5"
        echo "$step" >"$PHASED_OUT/step"
        [ ! -e "$PHASED_OUT/go" ] || exit 0
        sleep 0.1
      done
SPEC
}
