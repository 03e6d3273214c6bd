# Shared by the bats files about requeued jobs. Load it after training.bash.

# A job has a minute to end. Within this time the lead calls scontrol several times, and a call may take
# seconds on a busy machine.
requeue_up() {
    sandbox_up 2
    sed -i 's/^KillWait=.*/KillWait=60/; s/ GraceTime=.*/ GraceTime=60/' "$SLURM_CONF"
    scontrol reconfigure
    reference_up
}

# job N: the Slurm id of job N of the record.
job() {
    record "SELECT slurm_id FROM job WHERE id = $1"
}

restarts() {
    scontrol show job "$1" | grep -oE 'Restarts=[0-9]+' | cut -d= -f2
}

has_restarted() {
    [ "$(restarts "$1")" -ge "$2" ] && ! scontrol show job "$1" | grep -qE 'JobState=\S*COMPLETING'
}

is_over() {
    scontrol show job "$1" | grep -qE 'JobState=(COMPLETED|PREEMPTED) '
}

# ends_after RESTARTS: the job ends with its last run, and Slurm does not start it again.
ends_after() {
    eventually 60 is_over "$(job 1)"
    [ "$(restarts "$(job 1)")" = "$1" ]
}

# One job did everything, and no step was repeated.
one_job() {
    [ "$(record 'SELECT count(*) FROM job')" = 1 ]
    jobs_agree
    same_weights "$1"
    [ "$(record 'SELECT count(DISTINCT step) FROM metric')" = 150 ]
}

# steps_join N: run N + 1 began where run N ended.
steps_join() {
    [ "$(record "SELECT last_step FROM run WHERE attempt = $1")" = \
        "$(record "SELECT resume_step FROM run WHERE attempt = $1 + 1")" ]
}
