#!/usr/bin/env bats
# phasectl mcp: what AI assistants may do, and how it is recorded. mcp.py is the client.

load phased.bash

setup_file() { sandbox_up 2; }
teardown_file() { sandbox_down; }
setup() {
    home_up
    WHO=$(id -un)
    export WHO
    cd "$PHASED_HOME" || return
    good >good.yaml
}
teardown() { home_down; }

# The gate of the first phase fails, so the phase waits for a person. Its log has more than 100 kB.
good() {
    cat <<'SPEC'
name: two
phases:
  first:
    resources: {nodes: 1, gpus: h100:1, time: 30m}
    preflight: off
    params: {count: 2000}
    run: |
      for i in $(seq $count); do echo "line $i of a long log, which does not fit into one answer"; done
      printf -- '-x \033[31mred \377\n'
      echo "asked by ${PHASED_BY:-nobody}"
      for i in 1 2 3; do echo "step=$i loss=$((2 * i + 1))"; done
      echo 'the last line'
    gate: {falling: {value: last(loss), below: 1}}
  second:
    after: first
    resources: {nodes: 1, gpus: h100:1, time: 10m}
    preflight: off
    run: until [ -e "$PHASED_HOME/go" ]; do sleep 0.3; done
SPEC
}

check() { /usr/bin/python3 "$SRC/tests/system/mcp.py" "$1"; }

# The daemon, and a workflow whose first phase is held.
held() {
    phasectl daemon start
    phasectl submit good.yaml
    eventually 60 state 1/first held
}

@test "the handshake knows two revisions" { check handshake; }
@test "each tool has a schema, a description and hints" { check tools; }
@test "wrong messages get an error, and the next message is read" { check wrong_messages; }
@test "wrong arguments are refused, and no argument becomes an option" { check wrong_arguments; }
@test "without a daemon, each tool says so" { check no_daemon; }
@test "the server ends with its client" { check the_client_is_killed; }

@test "tools that read answer with text and JSON" {
    held
    check reading
}

@test "a submission is tried, or made if it is allowed; the history says by whom" {
    phasectl daemon start
    check submitting
}

@test "decisions must be allowed, and the history says who decided" {
    held
    check deciding
    [ "$(record "SELECT DISTINCT who FROM promotion WHERE decided_by = 'user'")" = "$WHO by mcp (claude-desktop)" ]
}

@test "only submit and decide can be allowed" {
    run phasectl mcp --allow everything </dev/null
    [ "$status" = 2 ]
    [[ $output = *"--allow wants submit or decide, not 'everything'"* ]]
    run phasectl mcp </dev/null
    [ "$status" = 0 ]
    [ -z "$output" ]
}
