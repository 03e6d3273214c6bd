#!/usr/bin/env bats
# The values of secrets are in one file, and nowhere else: not in the record, not in the folders of
# runs, not in any answer. The programs have them, also after a requeue and a restart.

bats_require_minimum_version 1.5.0
load phased.bash
load training.bash

setup_file() { sandbox_up 2; }
teardown_file() { sandbox_down; }
setup() {
    home_up
    # Each value has a part of its own to search for.
    shell=wandb-0123456789abcdef file=hf_0123456789ABCDEF named='plain $$ "value"' url='postgres://anna:pass-9876@db/x'
    parts=(0123456789abcdef 0123456789ABCDEF 'plain $$ ' pass-9876)
}
teardown() {
    scancel --name=preemptor || true
    home_down
}

# secret_training STEP...: a training that says which values it has, by their digests.
secret_training() {
    training "$@" | sed -e "s|^name: .*|&\nsecrets: [PLAIN]\nenv: {HF_TOKEN: $file, ADDRESS: '$url'}|" \
        -e 's|^      echo .*|&\n      for value in "$WANDB_API_KEY" "$HF_TOKEN" "$PLAIN" "$ADDRESS"; do printf %s "$value" \| sha256sum; done >>"$PHASED_OUT/had"|'
}

# A shell with secrets submits; the daemon has a shell without.
submit_secrets() {
    WANDB_API_KEY=$shell PLAIN=$named submit "$@"
}

# had TIMES: each of so many runs had all values.
had() {
    local expected
    expected=$(for _ in $(seq "$1"); do for value in "$shell" "$file" "$named" "$url"; do printf %s "$value" | sha256sum; done; done)
    [ "$(cat "$PHASED_HOME/runs/1/train/out/had")" = "$expected" ]
}

# found TEXT...: the files of the home and of Slurm that have a text. What this test wrote does not count.
found() {
    grep -arlF "$1" "$PHASED_HOME" "$SANDBOX" --exclude=spec.yaml --exclude-dir=reference 2>/dev/null | sort
}

only_in() {
    for part in "${parts[@]}"; do
        [ "$(found "$part")" = "$1" ] || { echo "$part: $(found "$part")"; return 1; }
    done
}

# hides FILE: no value is in it.
hides() {
    [ -s "$1" ]
    ! grep -aE '0123456789abcdef|0123456789ABCDEF|plain \$\$ |pass-9876' "$1"
}

api() { curl -sf --unix-socket "$PHASED_HOME/phased.sock" "http://phased$1"; }

# Everything that shows a workflow.
answers() {
    local base
    phasectl show 1
    phasectl show --spec 1
    phasectl show --environment 1
    phasectl show --json 1
    phasectl status 1/train --json
    phasectl runs 1 --json
    phasectl why 1/train
    phasectl logs 1/train#1
    phasectl metrics 1/train
    phasectl gate 1/train
    api '/v1/events?after=0'
    for route in /v1/workflows '/v1/workflows?all=1' /v1/workflows/1 /v1/workflows/1/source /v1/workflows/1/phases/train \
        /v1/workflows/1/phases/train/runs/1 '/v1/runs?workflow=1' /metrics; do api "$route"; done
    local page
    page=$(phasectl open --json | gojq -r .url)
    base=${page%%/#*}
    curl -sf -H "Authorization: Bearer ${page##*#}" "$base/v1/workflows/1/source"
    printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}' \
        '{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}' \
        '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"status","arguments":{"address":"1/train"}}}' \
        '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"why","arguments":{"address":"1/train"}}}' | phasectl mcp
}

@test "values are in one file only, also after a requeue with a restart, and go when the workflow succeeds" {
    phasectl daemon start
    secret_training 110 130 | submit_secrets
    eventually 60 past 1/train 25
    [ "$(stat -c '%a %U' "$PHASED_HOME/secrets/1")" = "600 $(id -un)" ]
    [ "$(stat -c %a "$PHASED_HOME/secrets")" = 700 ]
    only_in "$PHASED_HOME/secrets/1"
    daemon_kill
    preempt
    phasectl daemon start
    eventually 60 test -d "$PHASED_HOME/runs/1/train/2"
    only_in "$PHASED_HOME/secrets/1"
    answers >"$BATS_TEST_TMPDIR/answers"
    hides "$BATS_TEST_TMPDIR/answers"
    grep -q '^WANDB_API_KEY=(secret)$' "$BATS_TEST_TMPDIR/answers"
    grep -q 'HF_TOKEN: "(secret)"' "$BATS_TEST_TMPDIR/answers"
    touch "$PHASED_HOME/runs/1/train/out/go"
    eventually 100 state 1 succeeded
    had 2
    [ "$(outcomes)" = 'preempted succeeded' ]
    eventually 60 test ! -e "$PHASED_HOME/secrets/1"
    only_in ''
}

@test "a lead that goes on alone has the values, and writes them nowhere" {
    phasectl daemon start
    secret_training 110 | submit_secrets
    eventually 60 past 1/train 25
    daemon_kill
    preempt
    job=$(record 'SELECT slurm_id FROM job WHERE id = 1')
    waits() { scontrol show job "$job" | grep -q 'Reason=BeginTime'; }
    eventually 60 waits
    scontrol update JobId="$job" StartTime=now+2
    eventually 120 test -s "$PHASED_HOME/runs/1/train/2/outcome.json"
    had 2
    only_in "$PHASED_HOME/secrets/1"
}

@test "notices and traces hide values, and the changes of the code do, too" {
    cd "$BATS_TEST_TMPDIR"
    git init -q .
    git config user.email t@t
    git config user.name t
    printf 'name: told\nphases:\n' >w.yaml
    git add w.yaml
    git commit -qm first
    cat >>w.yaml <<SPEC
  only:
    resources: {time: 10m}
    on_fail: hold
    env: {HF_TOKEN: $file}
    run: exit 3
notify: {on: [held, failed], command: 'cat >\$PHASED_HOME/told; env >>\$PHASED_HOME/told'}
SPEC
    phasectl daemon start
    WANDB_API_KEY=$shell phasectl submit w.yaml
    eventually 60 test -s "$PHASED_HOME/told"
    phasectl show --diff 1 >diff
    grep -q 'HF_TOKEN: (secret)' diff
    phasectl cancel 1
    eventually 60 state 1 cancelled
    mkdir got
    python3 "$BATS_TEST_DIRNAME/collector.py" got 3>&- &
    collector=$!
    eventually 60 test -s got/port
    OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:$(cat got/port) phasectl events --otlp
    [ -s got/spans ]
    for part in 0123456789abcdef 0123456789ABCDEF; do
        [ "$(found "$part")" = "$PHASED_HOME/secrets/1" ]
        [ -z "$(grep -arlF "$part" got diff)" ]
    done
}

@test "a phase cannot run again without its secrets, and a text with marks is refused" {
    phasectl daemon start
    submit <<SPEC
name: again
phases:
  only:
    resources: {time: 10m}
    on_fail: fail
    env: {HF_TOKEN: $file}
    run: '[ -e "\$PHASED_HOME/go" ]'
SPEC
    eventually 60 state 1 failed
    [ -s "$PHASED_HOME/secrets/1" ]
    phasectl show --spec 1 >"$PHASED_HOME/marks.yaml"
    run -1 phasectl submit "$PHASED_HOME/marks.yaml"
    [[ $output == *'/marks.yaml: line 6: (secret) stands for a value of HF_TOKEN that is not recorded'* ]]
    mv "$PHASED_HOME/secrets/1" "$PHASED_HOME/aside"
    run -1 phasectl retry 1/only
    [[ $output == *'cannot retry 1/only: the secret HF_TOKEN was removed'* ]]
    mv "$PHASED_HOME/aside" "$PHASED_HOME/secrets/1"
    touch "$PHASED_HOME/go" "$PHASED_HOME/secrets/.left-by-a-kill" "$PHASED_HOME/secrets/77"
    phasectl retry 1/only
    eventually 60 state 1 succeeded
    is_empty() { [ -z "$(ls -A "$PHASED_HOME/secrets")" ]; }
    eventually 60 is_empty
}

@test "a variable whose value looks like the mark of a secret has its value, or is refused" {
    phasectl daemon start
    PLAIN='(secret)' OTHER='(secret 2)' submit <<'SPEC'
name: looks
phases:
  only:
    resources: {time: 10m}
    run: printf %s "$PLAIN $OTHER" >"$PHASED_OUT/had"
SPEC
    eventually 60 state 1 succeeded
    [ "$(cat "$PHASED_HOME/runs/1/only/out/had")" = '(secret) (secret 2)' ]
    cat >"$PHASED_HOME/spec.yaml" <<'SPEC'
name: looks
phases:
  only:
    resources: {time: 10m}
    env: {PLAIN: (secret 3)}
    run: 'true'
SPEC
    run -1 phasectl submit "$PHASED_HOME/spec.yaml"
    [[ $output == *'/spec.yaml: line 5: (secret 3) stands for a value of PLAIN that is not recorded'* ]]
}

# held PHASE: the phase is held because a secret of it is gone, and no run of it has begun.
held() {
    [ "$(phasectl status "1/$1" --json | gojq -r '.state + ": " + .reason')" = \
        'held: held by phased: the secret HF_TOKEN was removed after the workflow had ended: submit the workflow again' ]
}

@test "a phase that begins after its secrets were removed is held, in place and in a job of its own" {
    phasectl daemon start
    submit <<SPEC
name: later
phases:
  first:
    resources: {gpus: h100:1, time: 10m}
    on_fail: fail
    run: '[ -e "\$PHASED_HOME/go" ]'
  same:
    after: first
    resources: {gpus: h100:1, time: 10m}
    env: {HF_TOKEN: $file}
    run: printf %s "\$HF_TOKEN" >"\$PHASED_OUT/had"
  other:
    after: first
    resources: {nodes: 2, gpus: h100:1, time: 10m}
    env: {HF_TOKEN: $file}
    launch: node
    run: printf %s "\$HF_TOKEN" >"\$PHASED_OUT/had-\$SLURM_NODEID"
SPEC
    eventually 60 state 1/first failed
    mv "$PHASED_HOME/secrets/1" "$PHASED_HOME/aside"
    touch "$PHASED_HOME/go"
    phasectl retry 1/first
    eventually 100 held same
    eventually 100 held other
    [ "$(record "SELECT count(*) FROM run WHERE started NOT NULL")" = 2 ] # both of them of first
    run -1 phasectl release 1/same
    [[ $output == *'cannot release 1/same: the secret HF_TOKEN was removed'* ]]
    mv "$PHASED_HOME/aside" "$PHASED_HOME/secrets/1"
    phasectl release 1
    eventually 100 state 1 succeeded
    [ "$(cat "$PHASED_HOME/runs/1/same/out/had" "$PHASED_HOME/runs/1/other/out/had-1")" = "$file$file" ]
}
