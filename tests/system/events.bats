#!/usr/bin/env bats
# phasectl events: what programs read of the history.

load phased.bash
bats_require_minimum_version 1.5.0

setup_file() { sandbox_up; }
teardown_file() { sandbox_down; }
setup() {
    home_up
    cd "$PHASED_HOME" || return
    phasectl daemon start
}
teardown() {
    home_down
}

# Whether the file has all events of the record, each once and in order.
has_all_events() {
    [ "$(gojq .event "$1")" = "$(record 'SELECT id FROM event ORDER BY id')" ]
}

# ended WORKFLOW FILE: the file has the end of the last phase.
ended() {
    gojq -e "select(.workflow == $1 and .phase == \"second\" and .to == \"succeeded\")" "$2"
}

@test "events prints the history of all workflows, a workflow, a phase or a run as lines of JSON" {
    local run
    two_phases | submit
    two_phases | submit
    eventually 60 state 1 succeeded
    eventually 60 state 2 succeeded
    phasectl events >all
    has_all_events all
    [ "$(gojq -c 'keys' all | sort -u)" = '["event","from","message","phase","result","run","step","time","to","type","workflow"]' ]
    [ "$(phasectl events 1 2)" = "$(cat all)" ]
    [ "$(phasectl events 2)" = "$(grep '"workflow":2,' all)" ]
    [ "$(phasectl events 2/first 1/second | gojq .event)" = "$(gojq 'select((.workflow == 2 and
        .phase == "first") or (.workflow == 1 and .phase == "second")) | .event' all)" ]
    run=$(gojq 'select(.workflow == 1 and .phase == "second") | .run | numbers' all | sort -u)
    [ "$(phasectl events '1/second#1' | gojq .run | sort -u)" = "$run" ]

    [ "$(phasectl events --after 3 | gojq .event | head -n 1)" = 4 ]
    [ "$(phasectl events --since 1h | wc -l)" = "$(wc -l <all)" ]
    [ -z "$(phasectl events --since 2100-01-01)" ]
    [ -z "$(phasectl events --after 1000000)" ]
    run -1 phasectl events 9
    [ "$output" = 'phasectl: no workflow 9' ]
    run -1 --separate-stderr phasectl events 9 2
    [ "$output" = "$(phasectl events 2)" ]
    run -2 phasectl events --since yesterday
    [[ $output == *"--since wants a duration such as 10m"* ]]
    run -1 sh -c 'phasectl events >/dev/full'
    [[ $output == 'phasectl: could not write to standard output: '* ]]
}

@test "events reads a history of more than a page of the API" {
    two_phases | submit
    eventually 60 state 1 succeeded
    sqlite3 -cmd '.timeout 10000' phased.db "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2100)
        INSERT INTO event (time, workflow, type, message) SELECT 1000, 1, 'warning', 'made up' FROM n"
    phasectl events >all
    has_all_events all
    [ "$(line_count all)" -gt 2100 ]
}

@test "events --follow goes on after a restart of the daemon, without loss and nothing twice" {
    local status=0
    phasectl events --follow >followed 2>said 3>&- &
    beside=$!
    two_phases | submit
    eventually 60 ended 1 followed
    daemon_kill
    eventually 60 grep -q 'phasectl: the daemon does not answer; waiting for it' said
    phasectl daemon start
    two_phases | submit
    eventually 60 ended 2 followed
    phasectl daemon stop
    phasectl daemon start
    two_phases | submit
    eventually 60 ended 3 followed
    has_all_events followed
    kill -INT $beside
    wait $beside || status=$?
    [ $status = 0 ]
    [ "$(grep -c 'does not answer' said)" -le 2 ]
}

@test "events --follow ends when nobody reads any more, also while nothing happens" {
    two_phases | submit
    eventually 60 state 1 succeeded
    mkfifo pipe
    phasectl events --follow >pipe 2>said 3>&- &
    beside=$!
    head -n 2 pipe >two
    eventually 60 process_has_ended $beside
    [ "$(gojq -c .event two | xargs)" = '1 2' ]
    [ ! -s said ]
}

@test "watch and logs --follow end when nobody reads any more, also while nothing happens" {
    local id form status
    id=$(submit <<SPEC
name: quiet
phases:
  only: {resources: {time: 5m}, run: 'echo begun; until [ -e $PHASED_HOME/go ]; do sleep 0.1; done'}
SPEC
    )
    eventually 60 state "$id" running
    for form in "watch $id" "watch $id --json" "logs $id --follow"; do
        rm -f pipe
        mkfifo pipe
        phasectl $form >pipe 2>said 3>&- &
        beside=$!
        head -n 1 pipe >one
        eventually 20 process_has_ended $beside
        status=0
        wait $beside || status=$?
        [ $status = 1 ]
        [ -s one ]
        [ ! -s said ]
    done
    touch go
    eventually 60 state "$id" succeeded
}

@test "logs --follow says that it stops when the daemon stays away" {
    local library=(/usr/lib*/*/faketime/libfaketimeMT.so.1) id status=0
    [ -e "${library[0]}" ] || skip "there is no libfaketime"
    id=$(submit <<SPEC
name: away
phases:
  only: {resources: {time: 5m}, run: 'echo begun; until [ -e $PHASED_HOME/go ]; do sleep 0.1; done; exit 1'}
SPEC
    )
    eventually 60 state "$id" running
    echo +0 >clock
    env LD_PRELOAD="${library[0]}" FAKETIME_TIMESTAMP_FILE="$PHASED_HOME/clock" FAKETIME_NO_CACHE=1 \
        phasectl logs -f "$id/only" >followed 2>said 3>&- &
    beside=$!
    eventually 60 grep -q begun followed
    phasectl daemon stop
    touch go
    eventually 60 test -s "$PHASED_HOME/runs/$id/only/1/outcome.json"
    # The first question after the end finds no daemon; the clock goes on then.
    goes_on() { echo "+$((SECONDS * 100))" >clock; process_has_ended $beside; }
    eventually 60 goes_on
    wait $beside || status=$?
    phasectl daemon start
    [ $status = 1 ]
    grep -q 'phasectl: stopped following: no daemon is running' said
}

@test "a submission without an answer may be queued, and phasectl says so" {
    command -v socat || skip "socat is not installed"
    phasectl daemon stop
    # Something answers a ping, takes each other request, and ends the connection.
    cat >taker <<'SH'
read -r request
case $request in
*/v1/ping*) printf 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}' ;;
*) head -c 100 >>requests ;;
esac
SH
    socat "UNIX-LISTEN:$PHASED_HOME/phased.sock,fork" SYSTEM:'sh taker' 3>&- &
    beside=$!
    eventually 60 curl -s --unix-socket "$PHASED_HOME/phased.sock" http://localhost/v1/ping
    run --separate-stderr phasectl submit "$SRC/etc/workflows/demo.yaml"
    kill $beside
    [ "$status" = 1 ]
    [[ $stderr == *"the submission may be queued nevertheless; look with 'phasectl status'"* ]]
    [ -s requests ]
}
