#!/usr/bin/env bats
# phasectl: its words, its errors, and what it shows of a daemon with a sandbox.

load cli.bash

# says PATTERN WORD...: what phasectl prints.
# shellcheck disable=SC2053 # a pattern
says() { [[ $(phasectl "${@:2}") == $1 ]]; }

# Submits the workflow, and prints its number.
submitted() {
    workflow "$1" >small.yaml
    shift
    phasectl submit small.yaml "$@" | sed -n 's/^workflow \([0-9]*\) .*/\1/p'
}

# --- Words ---------------------------------------------------------------------------------------

@test "every verb has help" {
    local verbs verb
    verbs=$(phasectl --help | awk '/^  [a-z]+ / { print $1 }')
    [ "$(wc -w <<<"$verbs")" -ge 15 ]
    for verb in $verbs; do
        run -0 phasectl "$verb" --help
        [[ ${lines[0]} == "usage: phasectl $verb"* ]]
        [ "$(phasectl help "$verb")" = "$output" ]
    done
    run -0 phasectl help --help
    [ "$output" = "$(phasectl --help)" ]
}

@test "wrong words give a message with a hint, and exit code 2" {
    local words
    while read -r words; do
        # shellcheck disable=SC2086
        run -2 --separate-stderr phasectl $words
        [ -z "$output" ]
        [[ $stderr == phasectl*": "*"Try 'phasectl"*"--help'." ]]
    done <<'WORDS'
sumbit demo.yaml
submit
submit a.yaml --wacth
submit a.yaml --set iterations
submit a.yaml --watch=yes
submit a.yaml --after 44 --after 36
submit a.yaml --priority 1000001
submit a.yaml --priority -1000001
metrics 7 --last 3 --last=4
status seven
status 7/
logs 7 --rank -1
metrics 7 --last 0
metrics 7 --name ../secret
metrics 7 --csv --trackio curves.db
metrics 7 --tensorboard events --last 3
metrics 7 --follow
cancel 7/first#1
daemon restart
sandbox stop --nodes 3
WORDS
    run -2 phasectl sumbit
    [[ $output == *"did you mean 'submit'"* ]]
    run -2 phasectl explain 7
    [[ $output == *"did you mean 'why' or 'gate'?"* ]]
    run -2 phasectl run my.yaml
    [[ $output == *"did you mean 'submit' or 'runs'?"* ]]
    run -2 phasectl help squeue
    [[ $output == *"did you mean 'status'?"* ]]
    run -2 phasectl submit a.yaml --wacth
    [[ $output == *"did you mean --watch"* ]]
    run -2 phasectl submit a.yaml --after 44 --after 36
    [[ $output == *"--after is given twice"* ]]
    run -2 phasectl sandbox restart
    [[ $output == *"unknown word 'restart'; say start, stop or status"* ]]
}

@test "without a daemon each question gives one line that says how to start the daemon" {
    local words
    for words in status 'watch 1' 'logs 1' 'metrics 1' 'gpus 1' 'gate 1/first' 'cancel 1' runs events 'events -f' \
        'daemon status'; do
        # shellcheck disable=SC2086
        PHASED_HOME=$BATS_TEST_TMPDIR/nobody run -1 --separate-stderr phasectl $words
        [ "$stderr" = "phasectl: no daemon is running for $BATS_TEST_TMPDIR/nobody;\
 start it with 'phasectl daemon start'" ]
    done
}

@test "a closed pipe ends the output without a message" {
    workflow 20 >small.yaml
    run bash -c 'phasectl --help | true; phasectl check --print small.yaml | true'
    [ -z "$output" ]
}

# --- check ---------------------------------------------------------------------------------------

@test "check names every problem with its place" {
    workflow 20 | sed 's/at_most/at_mots/; s/launch: rank/launch: ranks/' >bad.yaml
    run -1 --separate-stderr phasectl check bad.yaml
    [[ $stderr == *"bad.yaml:6:"*"launch"* ]]
    [[ $stderr == *"bad.yaml:15:"*"at_mots"*"did you mean at_most?"* ]]
    [[ $stderr == *"phasectl: bad.yaml has "*" problems" ]]
}

@test "check checks every file, also those after a file with a mistake" {
    workflow 20 >one.yaml
    workflow 20 | sed 's/at_most/at_mots/' >bad.yaml
    workflow 30 >two.yaml
    run -0 phasectl check one.yaml two.yaml
    [ "$output" = $'one.yaml is good: 2 phases\ntwo.yaml is good: 2 phases' ]
    sed 's/params: {steps: 10}/matrix: {steps: [1, 2, 3]}/; s/^    gate:.*/    best: {min: last(loss)}/; /low:\|falling:/d' one.yaml >sweep.yaml
    run -0 phasectl check sweep.yaml
    [ "$output" = 'sweep.yaml is good: 2 phases, one with 3 members' ]
    run -1 phasectl check one.yaml bad.yaml missing.yaml two.yaml
    [[ ${lines[0]} == "one.yaml is good: "* && ${lines[1]} == "bad.yaml:15:"*"at_mots"* ]]
    [[ $output == *$'\n'"phasectl: "*"missing.yaml"*$'\n'"two.yaml is good: 2 phases" ]]
    [ "$(phasectl check --json one.yaml bad.yaml two.yaml | gojq -c '[.file, .good]')" = \
        $'["one.yaml",true]\n["bad.yaml",false]\n["two.yaml",true]' ]
    run -2 phasectl check one.yaml two.yaml --log first=some.log
    [[ $output == *"--log is for one file, not for 2"* ]]
}

@test "check --print prints the resolved workflow" {
    workflow 20 >small.yaml
    phasectl check small.yaml
    phasectl check --print --set first.steps=7 small.yaml >resolved.json
    [ "$(gojq '.phases[0].params.steps, .phases[0].progress.total' resolved.json)" = $'7\n7' ]
}

@test "a file that is not a workflow is refused by check and by submit" {
    mkdir folder
    head -c 4096 /dev/urandom >binary
    head -c 10M /dev/zero | tr '\0' 'a' >large
    local file
    for file in folder binary large missing; do
        run -1 --separate-stderr phasectl check $file
        [[ $stderr == *$file* && ${#stderr_lines[@]} == 1 ]]
        run -1 --separate-stderr phasectl submit $file
        [[ $stderr == "phasectl: "*$file* && ${#stderr_lines[@]} == 1 ]]
    done
}

# --- The daemon ----------------------------------------------------------------------------------

@test "the daemon answers, and a second start leaves it alone" {
    run -0 phasectl daemon status
    [[ $output == *"is running (pid "*"home $PHASED_HOME)"*"Slurm cluster sandbox answers"* ]]
    local before
    before=$(phasectl daemon status --json | gojq .pid)
    run -0 phasectl daemon start
    [[ $output == *"is running already (pid $before,"* ]]
}

@test "phasectl shows the output of a daemon that ends at once" {
    mkdir bin
    cp "$BIN/phasectl" bin/
    cat >bin/phased <<'PHASED'
#!/bin/bash
seq -f 'line %.0f' 30
echo 'phased: disk full' >&2
exit 3
PHASED
    chmod +x bin/phased
    PHASED_HOME=$BATS_TEST_TMPDIR/home run -1 --separate-stderr bin/phasectl daemon start
    [[ $stderr == *"line 30"*"phased: disk full"*"phasectl: phased ended with exit code 3; the end of "*" says why" ]]
    [[ $stderr != *"line 2"$'\n'* ]]
}

@test "a home works even if its path is longer than the path of a socket may be" {
    local deep conf=$PHASED_HOME/sandbox/slurm.conf
    deep=$BATS_TEST_TMPDIR/$(printf 'd%.0s' {1..120})
    PHASED_HOME=$deep SLURM_CONF=$conf phasectl daemon start
    PHASED_HOME=$deep run -0 phasectl status
    [[ $output == "no workflows;"* ]]
    PHASED_HOME=$deep phasectl daemon stop
    PHASED_HOME=$deep run -0 phasectl daemon stop
    [ "$output" = "phased is not running" ]
}

# --- Workflows -----------------------------------------------------------------------------------

@test "submit --watch follows a workflow to its end" {
    workflow 20 >small.yaml
    run -0 --separate-stderr phasectl submit small.yaml --watch
    [[ ${lines[0]} =~ ^workflow\ ([0-9]+)\ small$ ]]
    local id=${BASH_REMATCH[1]}
    [[ $output == *"low"*"at most 20"*"passed"* ]]
    [[ $output == *"workflow $id (small) succeeded after "* ]]
    [[ $output == *"record  $PHASED_HOME/phased.db" ]]
    # Decimals are printed as they were given: no 1795267270.8289999.
    [[ $(phasectl status "$id" --json) =~ \"submitted\":\ [0-9]+\.[0-9]{1,3}, ]]
    [[ $output != *$'\033'* ]]
    [ -z "$stderr" ]

    run -0 phasectl status "$id"
    [[ $output == *first*succeeded*"10/10"*second*succeeded* ]]
    run -0 phasectl status --json "$id/first"
    [ "$(gojq -r '.state, .attempts, .step' <<<"$output")" = $'succeeded\n1\n10' ]
    run -0 phasectl logs "$id/first"
    [[ ${lines[9]} == *"step 10 | loss 10" ]]
    run -0 phasectl logs -f --rank all "$id/second#1"
    [[ $output == "[0] "*"made of 10" ]]
    run -0 phasectl metrics "$id/first" --name loss --last 2
    [[ $(tr -s ' ' <<<"$output") == $'STEP loss\n 9 11\n 10 10' ]]
    run -0 phasectl gpus "$id/first"
    [ "$output" = "nothing is known about the GPUs of this run" ]
    run -0 phasectl runs "$id/second"
    [[ $output == *"$id/second#1"*ended*succeeded* ]]
    run -0 phasectl watch "$id"
    [[ $output == *"succeeded"* ]]
}

@test "a gate that fails holds the workflow and is explained, and a person can overrule it" {
    local id
    id=$(submitted 5)
    run -1 phasectl watch "$id"
    [[ $output == *"workflow $id (small) is held"*"phasectl promote $id/first"* ]]
    run -0 phasectl gate "$id/first"
    [[ $output == "gate of $id/first: failed"* ]]
    [[ $output == *"low 10 is "*"train longer"* ]]
    run -0 phasectl gate "$id" # all gates of the workflow
    [[ $output == "gate of $id/first: failed"*$'\n'"gate of $id/second: the gate has no checks: a run that succeeds passes" ]]
    run -0 phasectl promote "$id/first"
    [ "$output" = "$id/first promoted" ]
    run -0 phasectl watch "$id"
    run -0 phasectl gate "$id/first"
    [[ $output == "gate of $id/first: overruled by a person, "*"low 10 is "* ]]
    [ "$(record "SELECT overridden, (SELECT decided_by FROM promotion WHERE promotion.phase = phase.id)
                 FROM phase WHERE workflow = $id AND name = 'first'")" = '1|user' ]
    [ "$(phasectl gate "$id/second")" = "gate of $id/second: the gate has no checks: a run that succeeds passes" ]
}

@test "why shows the runs, the failure with its last lines, and what can be done" {
    local id
    cat >fails.yaml <<'YAML'
name: fails
phases:
  only:
    resources: {gpus: h100:1, time: 5m}
    launch: node
    run: |
      echo step=1 loss=5; echo step=2 loss=4
      for line in $(seq 20); do echo "line $line"; done
      printf 'the \033[31mend\n'
      exit 3
YAML
    id=$(phasectl submit fails.yaml | sed -n 's/^workflow \([0-9]*\) .*/\1/p')
    phasectl watch "$id" || true
    run -0 phasectl status "$id/only#1"
    [[ $output == *"  folder "*"/runs/$id/only/1"* && $output != *_* ]]
    for address in "$id" "$id/only" "$id/only#1"; do
        run -0 phasectl why "$address"
        [[ ${lines[0]} == "$id/only is held: "* ]]
        [[ $output == *"$id/only#1  failed: exit  code 3 "*"n1 "*"start "*" 2  "*"exited with code 3"* ]]
        [[ $output == *"line 12"*"line 20"*"the end"* ]]
        [[ $output != *$'\033'* ]]
        [[ $output != *"line 11"* ]]
        [[ $output == *"what can be done:"*"phasectl retry $id/only  "* ]]
        # No message appears twice: neither why the phase is held nor why its run failed.
        [ "$(grep -c "exited with code 3" <<<"$output")" = 2 ] # the reason, and the run's line
        [ -z "$(grep -v '^$' <<<"$output" | sort | uniq -d)" ]
        [ "$(grep -c "is held" <<<"$output")" = 1 ]
        [ ${#lines[@]} -le 24 ]
    done
    run -1 phasectl why "$id/other"
    [[ $(phasectl gate "$id") == "gate of $id/only: "* ]]
}

@test "a workflow that is submitted with --hold waits for its release" {
    local id
    id=$(submitted 20 --hold)
    run -1 phasectl watch "$id"
    [[ $output == *"phasectl release $id/first"* ]]
    phasectl release "$id"
    run -0 phasectl watch "$id"
}

@test "verbs take several addresses, and hold says how the held workflows can go on" {
    local first second
    workflow 20 | sed 's/echo made of.*/exec sleep 600/' >small.yaml
    read -r _ first _ < <(phasectl submit --hold small.yaml)
    read -r _ second _ < <(phasectl submit --hold small.yaml)
    phasectl release "$first" "$second"
    run -0 phasectl hold "$first" "$second"
    [[ $output == *"phasectl release $first"*"phasectl release $second"* ]]
    run -0 phasectl status "$first" "$second"
    [[ $output == *"workflow $first "*"workflow $second "* ]]
    run -2 phasectl cancel "$first" nonsense # then no phase is cancelled
    run -1 phasectl cancel "$first" 999 "$second"
    [[ $output == *"no workflow 999"* ]]
    run -1 phasectl watch "$second" # the others are cancelled all the same
    [[ $output == *"workflow $second (small) cancelled"* ]]
}

@test "a held phase names only the ways out that the daemon accepts" {
    local id
    workflow 60 | sed 's/echo made of.*/exit 3/' >small.yaml
    id=$(phasectl submit small.yaml | sed -n 's/^workflow \([0-9]*\) .*/\1/p')
    run -1 phasectl watch "$id"
    [[ $output == *"phasectl logs $id/first"*"phasectl retry $id/first"*"phasectl cancel $id/first"* ]]
    [[ $output != *"phasectl promote"* ]]
    run -1 phasectl promote "$id/first"
    workflow 60 | sed 's/echo made of.*/exec sleep 600/' >small.yaml
    id=$(phasectl submit small.yaml | sed -n 's/^workflow \([0-9]*\) .*/\1/p')
    eventually 60 says '*running*' status "$id/first"
    phasectl hold "$id"
    run -1 phasectl watch "$id"
    [[ $output == *"phasectl release $id/first"*"phasectl cancel $id/first"* ]]
    [[ $output != *"phasectl retry"* ]]
    run -1 phasectl retry "$id/first"
    # For Slurm, the job has failed. For the reader, nothing has.
    eventually 60 says '*"job_state": "failed"*' status "$id/first#1" --json
    [[ $(phasectl why "$id/first") != *NonZeroExitCode* ]]
    phasectl cancel "$id/first"
}

@test "a cancelled workflow is shown as cancelled, not as failed" {
    local id
    id=$(submitted 20 --hold)
    [ "$(phasectl cancel "$id")" = "$id/first cancelled
$id/second skipped: a phase before it was cancelled" ]
    run -1 phasectl watch "$id"
    [[ $output == *"workflow $id (small) cancelled"* ]]
    run -1 --separate-stderr phasectl promote "$id/first"
    [[ $stderr == "phasectl: "*": retry it" ]]
    run -0 phasectl why "$id/first"
    [[ $output == *"what can be done:"*"phasectl retry $id/first "* ]]
}

@test "a warning of a run stands before what can be done" {
    local id output
    workflow 1 >small.yaml
    id=$(PHASED_NVML=/none.so phasectl submit small.yaml | sed -n 's/^workflow \([0-9]*\) .*/\1/p')
    run -1 phasectl watch "$id"
    output=$(phasectl why "$id")
    [[ $output == *$'\n'"$id/first#1 succeeded"$'\n  warning: preflight could not tell'*"what can be done:"* ]]
    [ "$(grep -c warning: <<<"$output")" = 1 ]
}

@test "watch without an address needs a terminal, and says so" {
    run -2 --separate-stderr phasectl watch </dev/null
    [[ $stderr == *"without an address, watch needs a terminal"* ]]
}

@test "params from --set reach the program" {
    local id
    workflow 60 >small.yaml
    run -1 --separate-stderr phasectl submit small.yaml --set first.steps=3 --set second.none=1
    [[ $stderr == *"second.none"* ]]
    id=$(submitted 60 --set steps=3)
    run -0 phasectl watch "$id"
    run -0 phasectl logs "$id/second"
    [[ $output == *"made of 3" ]]
}

@test "the daemon refuses a bad spec, and phasectl shows the places of the mistakes" {
    workflow 20 | sed 's/gate:/gates:/' >bad.yaml
    run -1 --separate-stderr phasectl submit bad.yaml
    [[ $stderr == *"bad.yaml:"*"did you mean gate?"* ]]
    [ -z "$output" ]
}

@test "several files are queued together or not at all" {
    local before
    workflow 20 >one.yaml
    workflow 20 >two.yaml
    workflow 20 | sed 's/gate:/gates:/' >bad.yaml
    before=$(phasectl status --all --json | gojq '.workflows | length')
    run -1 --separate-stderr phasectl submit --hold one.yaml bad.yaml two.yaml
    [[ $stderr == *"bad.yaml:"*"did you mean gate?"*"no workflow is queued"* ]]
    [ -z "$output" ]
    run -1 --separate-stderr phasectl submit --hold one.yaml absent.yaml
    [[ $stderr == *"absent.yaml"* ]]
    [ "$(phasectl status --all --json | gojq '.workflows | length')" = "$before" ]
    run -0 phasectl submit --hold one.yaml two.yaml one.yaml
    [[ ${lines[0]} =~ ^workflow\ [0-9]+\ small$ ]]
    [ ${#lines[@]} = 3 ]
    [ "$(phasectl status --all --json | gojq '.workflows | length')" = $((before + 3)) ]
    grep -oE '[0-9]+' <<<"$output" | xargs -n 1 phasectl cancel
}

@test "status shows the newest 50 workflows, and says how many more there are" {
    local files ids
    workflow 20 >one.yaml
    mapfile -t files < <(yes one.yaml | head -n 60)
    mapfile -t ids < <(phasectl submit --hold "${files[@]}" | grep -oE '[0-9]+')
    run -0 phasectl status
    [ ${#lines[@]} = 52 ] # a head, 50 workflows, and:
    [[ ${lines[51]} =~ ^'... and '[0-9]+' more: phasectl status --all'$ ]]
    [[ ${lines[1]} =~ ^\ *${ids[59]}\  ]]
    run -0 phasectl status --all
    [ ${#lines[@]} -ge 61 ]
    [[ $output != *' more'* ]]
    printf '%s\n' "${ids[@]}" | xargs -n 1 -P 4 phasectl cancel
}

@test "an address that does not exist is named" {
    local words
    for words in 'status 999' 'watch 999' 'logs 999' 'gpus 999' 'gate 999/first' 'cancel 999'; do
        # shellcheck disable=SC2086
        run -1 --separate-stderr phasectl $words
        [[ $stderr == "phasectl: "*999* && ${#stderr_lines[@]} == 1 ]]
    done
}

@test "a terminal gets bars and colours, unless NO_COLOR is set" {
    workflow 20 | sed 's/echo "step/sleep 0.2; &/' >small.yaml
    TERM=xterm run -0 script -qec 'phasectl submit small.yaml --watch' /dev/null
    [[ $output == *$'\033[J'* && $output == *$'\033[32m'* ]]
    NO_COLOR=1 TERM=xterm run -0 script -qec 'phasectl status' /dev/null
    [[ $output != *$'\033['* ]]
}

@test "output of ranks cannot command a terminal, and a pipe gets logs and JSON unchanged" {
    local id words
    cat >loud.yaml <<'SPEC'
name: loud
phases:
  only:
    resources: {time: 10m}
    run: |
      printf 'title \033]0;owned\007 clear \033[2J c1 \302\2332J turned \342\200\256 na\303\257ve\n'
      printf 'Traceback (most recent call last):\n  File "x", line 2\n'
      printf 'ValueError: bad \302\2332J turned \342\200\256\n'
      exit 3
SPEC
    id=$(phasectl submit loud.yaml | sed -n 's/^workflow \([0-9]*\) .*/\1/p')
    phasectl watch "$id" || true
    [[ $(phasectl logs "$id/only") == *$'title \033]0;owned\007 clear \033[2J c1 \302\2332J turned \342\200\256 na\303\257ve'* ]]
    TERM=xterm run -0 script -qec "phasectl logs $id/only" /dev/null
    [[ $output == *"title ^[]0;owned^G clear ^[[2J c1 <U+009B>2J turned <U+202E> "$'na\303\257ve'* ]]
    TERM=xterm run -0 script -qec "phasectl why $id/only" /dev/null
    [[ $output != *$'\033]'* && $output != *$'\302\233'* && $output != *$'\342\200\256'* ]]
    for words in "why $id/only" "status $id" "status $id/only" "watch $id" "runs $id"; do
        run sh -c "phasectl $words"
        [[ $output == *'ValueError: bad '* ]]
        [[ $output != *$'\033'* && $output != *$'\302\233'* && $output != *$'\342\200\256'* ]]
    done
    [[ $(phasectl status --json "$id/only") == *$'bad \302\2332J turned \342\200\256'* ]]
}

@test "watch and the job survive a restart of the daemon" {
    local id watcher
    workflow 20 | sed "s|echo made of|until [ -e $PWD/go ]; do sleep 0.1; done; &|" >small.yaml
    id=$(phasectl submit small.yaml | sed -n 's/^workflow \([0-9]*\) .*/\1/p')
    phasectl watch "$id" >watched 3>&- &
    watcher=$!
    eventually 60 grep -q active watched
    phasectl daemon stop
    [ "$(SLURM_CONF=$PHASED_HOME/sandbox/slurm.conf squeue -h -t RUNNING -o %T)" = RUNNING ]
    eventually 60 grep -q 'the daemon does not answer; waiting for it' watched
    touch go
    phasectl daemon start
    wait $watcher
    [ "$(record "SELECT count(*), max(attempt) FROM run JOIN phase ON phase.id = run.phase WHERE workflow = $id")" = '2|1' ]
    grep -q 'the daemon does not answer; waiting for it' watched
    grep -q "workflow $id (small) succeeded" watched
}

@test "Ctrl-C ends the watching and leaves the workflow alone" {
    local id watcher status=0
    workflow 20 | sed "s|echo made of|until [ -e $PWD/go ]; do sleep 0.1; done; &|" >small.yaml
    id=$(phasectl submit small.yaml | sed -n 's/^workflow \([0-9]*\) .*/\1/p')
    phasectl watch "$id" >watched 2>said 3>&- &
    watcher=$!
    eventually 60 grep -q queued watched
    kill -INT $watcher
    wait $watcher || status=$?
    [ $status = 130 ]
    grep -q "phasectl: stopped watching; workflow $id goes on" said
    touch go
    run -0 phasectl watch "$id"
}
