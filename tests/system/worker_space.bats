#!/usr/bin/env bats
# A run whose checkpoints fill their file system: a warning, then an end before a checkpoint fails.

bats_require_minimum_version 1.5.0
load worker/helpers.bash

setup() {
    worker_setup
    mkdir "$home/full"
    mount -t tmpfs -o size=1m tmpfs "$home/full" 2>/dev/null || skip "may not mount"
}
teardown() { worker_teardown; }

# Saves checkpoints of 200 KiB: four, and one more when a person has made the file `more`. Then it
# waits. A checkpoint gets its name when it is complete.
saving='save() { head -c 200K /dev/zero >$PHASED_OUT/.new; mv $PHASED_OUT/.new $PHASED_OUT/ckpt_$1; echo "step=$1 loss=1"; }
    for i in 1 2 3 4; do save $i; done
    until [ -e $PHASED_OUT/more ]; do sleep 0.3; done
    save 5; sleep 1000'

warns() {
    journal 1 n1 'select(.type == "warning") | .message' | grep -q "$1"
}

@test "a run that fills its disk is warned, then ended before a checkpoint fails, and says what to delete" {
    start_daemon
    new_run 1 "{\"checkpoint\": {\"path\": \"\$PHASED_OUT/ckpt_{step}\", \"save_time_s\": 60},
        \"run\": $(script "$saving")}" "{\"out_dir\": \"$home/full\"}"
    start_lead 1
    await warns '^room for only 1 more checkpoint in .*/full/: .* kB free, 204.8 kB for each checkpoint; if you'
    touch "$home/full/more"
    await_lead 1
    [ "$(outcome 1 '[.outcome, .cause]')" = '["cancelled",null]' ]
    [[ $(outcome 1 .message) == 'no room for the next checkpoint: '*' kB free, 204.8 kB for each checkpoint; delete old checkpoints (3 have 614.4 kB, '* ]]
    [ "$(journal 1 lead 'select(.type == "stopping") | .why')" = held ]
    [ "$(journal 1 n1 'select(.type == "checkpoint") | .step' | tail -n 1)" = 5 ]
    command=$(journal 1 n1 'select(.type == "warning") | .message' | tail -n 1 | sed 's/.*: rm/rm/')
    [[ $command == rm* ]]
    bash -c "$command"
    [ "$(cd "$home/full" && echo ckpt*)" = 'ckpt_4 ckpt_5' ]
}
