#!/usr/bin/env bats
# A phase in a container. The runtime is a stand-in that runs the command on this machine.

bats_require_minimum_version 1.5.0
load worker/helpers.bash

setup() {
    worker_setup
    mkdir "$home/bin"
    # apptainer exec OPTIONS IMAGE COMMAND...: passes all variables on. Notes its own HOME, and what
    # every user of the node can read.
    cat >"$home/bin/apptainer" <<'RUNTIME'
#!/bin/bash
echo "HOME=$HOME $(tr '\0' ' ' </proc/$$/cmdline)" >>"$NOTES"
shift
while [[ $1 == --* ]]; do
    [ "$1" = --nv ] || shift
    shift
done
exec "${@:2}"
RUNTIME
    chmod +x "$home/bin/apptainer"
    touch "$home/image.sif"
}
teardown() { worker_teardown; }

@test "the runtime gets the variables of the node, the program those of env, and no value is in an argument" {
    printf '{"HOME": ["%s"], "LD_SECRET": ["at the node", "in the image"]}' "$home" >"$home/secrets"
    chmod 600 "$home/secrets"
    new_run 1 "{\"launch\": \"group\", \"parallel\": {\"tensor\": 1, \"pipeline\": 1, \"data\": 1},
        \"container\": {\"image\": \"$home/image.sif\", \"runtime\": \"apptainer\", \"mounts\": []},
        \"env\": {\"HOME\": \"/home of the image\", \"LD_SECRET\": \"(secret 2)\"},
        \"run\": $(script 'echo "run $HOME, $LD_SECRET, ${PHASED_EXPORT_HOME-none}" >>"$PHASED_OUT/seen"'),
        \"join\": $(script 'echo "join $HOME, $LD_SECRET" >>"$PHASED_OUT/seen"')}" \
        "{\"secrets\": \"$home/secrets\",
          \"environment\": {\"PATH\": \"$home/bin:$PATH\", \"HOME\": \"(secret)\", \"LD_SECRET\": \"(secret)\",
                            \"NOTES\": \"$home/notes\"}}"
    lead_path=$home/bin:$PATH start_lead 1
    await_lead
    [ "$(cat "$home/out/seen")" = 'run /home of the image, in the image, none
join /home of the image, in the image' ]
    [ "$(grep -o '^HOME=[^ ]*' "$home/notes")" = "HOME=$home"$'\n'"HOME=$home" ]
    [ "$(grep -c 'in the image' "$home/notes")" = 0 ]
}

@test "the image is gone when the job has ended, although Slurm's TERM has come" {
    local left=$home/tmp/phased-image-left # of an agent that was killed
    mkdir -p "$left/part" && touch "$left/owner"
    printf '#!/bin/bash\n[ "$1" = start ] || mkdir "$ENROOT_DATA_PATH/part"\n' >"$home/bin/enroot"
    # Removes only when the agent is leaving, and sends TERM to itself and the agent before.
    cat >"$home/bin/rm" <<RM
#!/bin/bash
agent=\$(pgrep -f "^[^ ]*/phase-worker node $job\$")
while ((0x\$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/\$agent/status") & 0x4000)); do sleep 0.02; done
kill -TERM \$\$ \$agent
echo "has \$(ls "\${@: -1}")" >>"$home/notes"
exec /bin/rm "\$@"
RM
    chmod +x "$home/bin/enroot" "$home/bin/rm"
    touch "$home/image.sqsh"
    new_run 1 "{\"container\": {\"image\": \"$home/image.sqsh\", \"runtime\": \"enroot\", \"mounts\": []},
        \"run\": \"echo hi\"}" "{\"environment\": {\"PATH\": \"$home/bin:$PATH\", \"TMPDIR\": \"$home/tmp\"}}"
    lead_path=$home/bin:$PATH
    start_lead 1
    await_lead
    [ "$(outcome 1 .outcome)" = succeeded ]
    [ -z "$(ls "$home/tmp")" ]
    [ "$(grep -cx 'has owner' "$home/notes")" = 2 ] # the file by which a later run finds the rest goes last
}

@test "a program under timeout in a container saves when it is stopped" {
    start_daemon
    new_run 1 "{\"container\": {\"image\": \"$home/image.sif\", \"runtime\": \"apptainer\", \"mounts\": []},
        \"checkpoint\": {\"path\": \"\$PHASED_OUT/ckpt_{step}\", \"stop_signal\": \"TERM\", \"save_time_s\": 600},
        \"run\": $(script 'timeout 1000 bash -c '\''trap "echo 1 >$PHASED_OUT/ckpt_7; exit 0" TERM
            echo ready; while :; do sleep 0.2 || true; done'\''')}" \
        "{\"environment\": {\"PATH\": \"$home/bin:$PATH\", \"NOTES\": \"$home/notes\"}}"
    lead_path=$home/bin:$PATH
    start_lead 1
    await grep -q ready "$home/phase/1/log/rank-0.log"
    command_lead 1 1 '{"verb": "stop", "why": "cancelled"}'
    await_lead 1
    [ "$(journal 1 n1 'select(.type == "checkpoint") | .step')" = 7 ]
}
