#!/usr/bin/env bats
# phasectl top in a terminal of tmux: what the pane shows, and what the keys do to a daemon with a
# sandbox.

bats_require_minimum_version 1.5.0
load phased

setup_file() {
    command -v tmux >/dev/null || { skip_all "there is no tmux"; return; }
    ldd "$BIN/phasectl" | grep -q ncurses || { skip_all "phasectl was built without ncurses"; return; }
    export LC_ALL=C.UTF-8 FOLDER
    unset NO_COLOR TMUX
    FOLDER=$(mktemp -d /tmp/phased-top-XXXXXX)
    sandbox_up 1
    home_up
    phasectl daemon start
    workflow gated 3 1 | submit # its gate holds it
    workflow training 100000 9 | submit
    workflow waiting 3 9 | submit --hold
    eventually 60 state 1 held
    eventually 60 past 2/train 5
}

teardown_file() {
    is_of_test "${FOLDER:-}" || return 0
    if is_of_test "${PHASED_HOME:-}"; then phasectl cancel 2 3 || true; fi
    home_down
    sandbox_down
    rm -rf "$FOLDER"
}

setup() {
    skips
    PANE=$BATS_TEST_TMPDIR/tmux
}

teardown() {
    is_of_test "${FOLDER:-}" || return 0
    [ -n "${BATS_TEST_COMPLETED:-}" ] || picture | sed 's/^/# /' # only shown when the test failed
    tmux -S "$PANE" kill-server 2>/dev/null || true
    [ -z "${STOPPED:-}" ] || kill -CONT "$STOPPED"
}

# workflow NAME STEPS LIMIT: a phase whose loss is 5, with a gate that allows LIMIT, and another
# phase after it.
workflow() {
    cat <<SPEC
name: $1
phases:
  train:
    resources: {nodes: 1, gpus: h100:1, time: 30m}
    launch: rank
    params: {steps: $2}
    preflight: off
    run: |
      for step in \$(seq \$steps); do
        echo "step \$step | loss 5"; [ \$step -lt 50 ] || sleep 0.3
      done
    progress: {step: step, total: \$steps}
    gate: {low: last(loss) < $3}
  export:
    after: train
    resources: {nodes: 1, gpus: h100:1, time: 5m}
    preflight: off
    run: echo exported
SPEC
}

# terminal COLUMNS ROWS COMMAND...: runs the command in a pane, and shows there how it exited.
terminal() {
    local columns=$1 rows=$2
    shift 2
    tmux -u -S "$PANE" -f /dev/null new-session -d -x "$columns" -y "$rows" \
        "$* 2>&1; echo \"exit code \$?\"; exec cat" 3>&-
}

picture() {
    tmux -S "$PANE" capture-pane -p "$@"
}

keys() {
    tmux -S "$PANE" send-keys "$@"
}

in_picture() {
    picture | grep -qE -- "$1"
}

not_in_picture() {
    ! in_picture "$1"
}

# Waits until the pane has a line that matches, or has no such line.
shows() {
    eventually 60 in_picture "$1"
}

shows_no() {
    eventually 60 not_in_picture "$1"
}

# Whether all workflows have ended, and the pane shows them in their last order.
rows_stay() {
    phasectl status --json | gojq -e 'all(.workflows[]; .ended)' &&
        [ "$(picture | awk '/^ +[0-9]/ { print $1 }')" = "$(phasectl status | awk 'NR > 1 { print $1 }')" ]
}

@test "without a terminal or a daemon top says what it needs" {
    run -1 phasectl top </dev/null
    [ "$output" = "phasectl: top needs a terminal; 'phasectl status' does not" ]
    run -2 phasectl top 7
    run -2 phasectl watch
    terminal 100 24 "PHASED_HOME=$BATS_TEST_TMPDIR phasectl top"
    shows '^phasectl: no daemon is running for '
    shows '^exit code 1$'
}

@test "the list shows all workflows with their states, and q quits top without a trace" {
    terminal 80 24 phasectl watch
    shows '^ +1  gated +held +train +3/3'
    shows '^ +2  training +active +train +[0-9]+/100000'
    shows '^ +3  waiting +held +train'
    shows '^phased  sandbox  2 held  1 active'
    picture -e | grep -E $'\033\\[[0-9;]*33m *active'
    picture -e | grep -E $'\033\\[[0-9;]*35m *held'
    keys q
    shows '^exit code 0$'
    not_in_picture gated
}

@test "NO_COLOR leaves no colour, and Ctrl-C quits" {
    terminal 80 24 NO_COLOR=1 phasectl top
    shows '^ +2  training +active'
    run -1 grep -E $'\033\\[[0-9;]*[34][0-7]m' <(picture -e)
    keys C-c
    shows '^exit code 0$'
}

@test "Enter opens a workflow, and a run with its metrics and its log" {
    terminal 80 30 phasectl top
    shows '^ +2  training +active'
    keys / training Enter
    keys Enter
    shows '^2 training  active  submitted '
    shows '^PHASE .*PROGRESS .*METRIC .*CURVE'
    shows '^train +active .*loss 5 +[▁█]{5,}'
    shows '^└ export +blocked'
    shows '^── 2/train ──'
    shows '^── gate, 1 of 1 checks pass so far ─'
    shows '^  low +last\(loss\) < 9 +steps 1-[0-9]+ +passed'
    shows '^2/train#1 +running'
    keys Tab Tab Tab Tab Enter
    shows '^2/train#1  running .* [0-9]+/100000'
    shows '^loss +5 +[▁█]{5,}'
    shows '^── log of rank 0, following'
    shows ' step ([5-9][0-9]|[0-9]{3,}) \|'
    keys / 'STEP 17 ' Enter
    shows '^[0-9:]{8} step 17 \| loss 5$'
    keys g
    shows '^[0-9:]{8} step 1 \| loss 5$'
    shows '^── log of rank 0 ─'
    keys / nothing Enter
    shows "'nothing' is not in this pane"
    keys Escape
    shows '^Tab pane '
    keys f
    shows 'following'
    shows_no ' step 17 '
    keys Escape
    shows '^2 training '
    keys Escape
    shows '^phased  sandbox'
    keys '?'
    shows '^Tab, Shift-Tab +the next pane'
    keys Escape
    shows '^phased  sandbox'
}

@test "a gate shows its checks, and a key carries out a decision" {
    terminal 100 30 phasectl top
    shows '^ +1  gated +held'
    keys / gated Enter
    keys Enter
    shows '^gate of 1/train: failed'
    shows '^  low +last\(loss\) < 1 +steps 1-3 +failed'
    shows '^ p start the next phases anyway   r run the phase again   c end it'
    keys p
    shows 'promote 1/train, whatever the gate says\? y/n$'
    keys y
    shows '^train +succeeded'
    shows '^└ export +succeeded'
    shows '^1 gated  succeeded'
}

@test "h releases a held workflow, and only y confirms a cancellation" {
    terminal 80 24 phasectl top
    shows '^ +3  waiting +held'
    keys / waiting Enter
    keys h
    shows '^3/[a-z]+ released'
    shows '^ +3  waiting +(blocked|queued|active|succeeded)'
    keys / training Enter
    keys c
    shows '^cancel 2 for good\? .*y/n$'
    keys n
    shows '^Enter open '
    state 2 running
    keys c
    shows 'y/n$'
    keys y
    shows '^2/train is being cancelled: its run stops'
    shows '^ +2  training +cancelled'
    eventually 60 state 3 succeeded
}

@test "q does not lose a decision that was typed just before" {
    workflow sudden 3 9 | submit --hold
    terminal 80 24 phasectl top
    shows '^ +4  sudden +held'
    keys / sudden Enter
    keys -l cyq
    shows '^exit code 0$'
    in_picture '^4/train '
    phasectl status --json | gojq -e 'any(.workflows[]; .workflow == 4 and .state == "cancelled")'
}

@test "top says at its end which decision was not sent" {
    terminal 80 24 phasectl top
    shows '^ +3  waiting'
    STOPPED=$(daemon_pid)
    kill -STOP "$STOPPED"
    shows '^phased does not answer'
    keys r
    shows '^retry [0-9]+ \.\.\.'
    keys q
    shows '^exit code 1$'
    in_picture '^phasectl: retry [0-9]+ was not sent: phased does not answer'
}

@test "the pane may change its size, and the mouse selects and opens a workflow" {
    terminal 80 24 phasectl top
    shows '^ +1  gated'
    tmux -S "$PANE" resize-window -x 200 -y 40
    shows 'GPU TIME +COST +NOTE$'
    tmux -S "$PANE" resize-window -x 40 -y 10
    shows_no 'COST'
    shows '^ +1  gated'
    tmux -S "$PANE" resize-window -x 100 -y 24
    local row name
    eventually 60 rows_stay # a row must not move between a look and a click
    keys g
    row=$(picture | grep -nE '^ +3  waiting' | cut -d: -f1)
    name=$(printf "\\$(printf %o $((32 + row)))")
    local click=$'\033[M *'"$name"$'\033[M#*'"$name" # down and up in column 10 of that row
    keys -l "$click$click"
    shows '^3 waiting '
}

@test "top reports a daemon that stops, and continues when a daemon answers again" {
    terminal 80 24 phasectl top
    shows '^ +3  waiting'
    phasectl daemon stop
    shows '^phased does not answer; trying again \(training goes on\)$'
    shows '^ +3  waiting'
    keys r
    shows '^no daemon is running'
    phasectl daemon start
    shows_no 'does not answer'
    workflow later 3 9 | submit --hold
    shows 'later +held'
    keys q
    shows '^exit code 0$'
    phasectl cancel "$(phasectl status --json | gojq '.workflows[] | select(.name == "later") | .workflow')"
}
