#!/usr/bin/env bats
# The web page: who may use it, what it serves, and what people do with it in a browser (page.py).

bats_require_minimum_version 1.5.0
load phased.bash

setup_file() { sandbox_up 2; }
teardown_file() { sandbox_down; }
setup() {
    home_up
    phasectl daemon start
    open_page
}
teardown() {
    home_down
}

# Not each curl and each resolver knows the names under localhost, as browsers do.
open_page() {
    url=$(phasectl open --json | gojq -r .url)
    token=${url#*#} origin=${url%%/#*}
    port=${origin##*:} base=http://127.0.0.1:$port
}

# Another program listens at this address and port.
listen_at() {
    rm -f "$PHASED_HOME"/{listens,refused} # an earlier call may have said the same
    python3 -c 'import socket, sys, time
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
s = socket.socket(family)
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind((sys.argv[1], int(sys.argv[2])))
s.listen()
print("listens", flush=True)
time.sleep(600)' "$@" >"$PHASED_HOME/listens" 2>"$PHASED_HOME/refused" 3>&- &
    other=$!
    eventually 30 grep -q 'listens\|Error' "$PHASED_HOME/listens" "$PHASED_HOME/refused"
}

# code PATH [CURL-OPTION...]: the status of the reply.
code() { curl -s -o "$PHASED_HOME/reply" -w '%{http_code}' "${@:2}" "$base$1"; }

@test "only who has the token uses the page, and no other site does" {
    [ "$(code /)" = 200 ]
    [ "$(code /v1/ping)" = 403 ]
    [ "$(code /v1/workflows/1/cancel -X POST)" = 403 ]
    [ "$(code /metrics)" = 403 ]
    [ "$(code / -X POST)" = 403 ]
    [ "$(code /v1/ping -H "Authorization: Bearer ${token%?}g")" = 403 ]
    [ "$(code "/v1/ping?token=$token")" = 403 ]
    [ "$(code /v1/ping -H "Cookie: token=$token")" = 403 ]
    grep -q 'phasectl open' "$PHASED_HOME/reply"
    [ "$(code /v1/ping -H "Authorization: Bearer $token")" = 200 ]
    [ "$(code / -H 'Host: evil.example')" = 403 ]
    [ "$(code / -H 'Host: localhost.evil.example')" = 403 ]
    [ "$(code / -H 'Host: evil-localhost')" = 403 ]
    [ "$(code / -H "Host: ${origin#http://}")" = 200 ]
    [ "$(code / -H 'Host: an.earlier.localhost')" = 200 ] # the page tells what to do
    [ "$(code /v1/ping -H "Authorization: Bearer $token" -H 'Host: evil.example')" = 403 ]
    [ "$(code /../phased.db -H "Authorization: Bearer $token" --path-as-is)" = 404 ]
    curl -si "$base/" | grep -qi "^Content-Security-Policy: default-src 'none'; script-src 'self'"
}

@test "only this machine reaches the page, and a new daemon has a new token and a new origin" {
    ss -Hltn "sport = :$port" | grep -q "127.0.0.1:$port"
    [ "$(ss -Hltn "sport = :$port" | wc -l)" = 1 ]
    [[ $origin =~ ^http://p[0-9a-f]{16}\.localhost:[0-9]+$ ]]
    [ "$(phasectl open --json | gojq -r .url)" = "$url" ]
    before=$origin earlier=$token port_before=$port
    phasectl daemon stop
    phasectl daemon start
    open_page
    [ "$port" = "$port_before" ] # a tunnel stays good
    [ "$origin" != "$before" ] # no other user has shown the browser a page of this origin
    [ "$token" != "$earlier" ]
    [ "$(code /v1/ping -H "Authorization: Bearer $earlier")" = 403 ]
    run ! grep -rqF "$token" "$PHASED_HOME"
    run ! grep -rqF "${origin#http://}" "$PHASED_HOME"
}

@test "no other program gets what a browser sends to the page" {
    log=$PHASED_HOME/phased.log
    usual=$port
    run ! grep -q 'in use by another program' "$log"
    listen_at ::1 0
    grep -q listens "$PHASED_HOME/listens" || skip 'this machine has no IPv6'
    kill "$other"
    listen_at ::1 "$port" # a browser asks there first for a name under localhost
    grep -q 'Address already in use' "$PHASED_HOME/refused"
    phasectl daemon stop
    for address in ::1 127.0.0.1; do
        listen_at "$address" "$usual"
        phasectl daemon start
        open_page
        [ "$port" != "$usual" ]
        [ "$(code /)" = 200 ]
        grep -q "port $usual of the web page is in use by another program: the page has port $port" "$log"
        phasectl daemon stop
        kill "$other"
        wait "$other" || true
    done
}

@test "on a desktop the page is opened, and no other user sees its token" {
    mkdir "$PHASED_HOME/bin"
    printf '#!/bin/sh\necho "$@" >%s/opened\n' "$PHASED_HOME" >"$PHASED_HOME/bin/xdg-open"
    chmod +x "$PHASED_HOME/bin/xdg-open"
    PATH=$PHASED_HOME/bin:$PATH DISPLAY='' WAYLAND_DISPLAY='' phasectl open
    PATH=$PHASED_HOME/bin:$PATH DISPLAY=:7 phasectl open --json
    [ ! -e "$PHASED_HOME/page.html" ]
    PATH=$PHASED_HOME/bin:$PATH DISPLAY=:7 phasectl open
    eventually 60 grep -qx "$PHASED_HOME/page.html" "$PHASED_HOME/opened"
    grep -qF "url=$url\"" "$PHASED_HOME/page.html"
    [ "$(stat -c %a "$PHASED_HOME/page.html")" = 600 ]
}

@test "a part of a log has whole letters, and says where to read on" {
    submit <<'SPEC'
name: words
phases:
  say:
    resources: {nodes: 1, gpus: h100:1, time: 10m}
    preflight: off
    run: printf 'step 1 loss 2\nh\303\244lfte \377 ende\n'
SPEC
    eventually 60 state 1 succeeded
    part() { curl -sf -H "Authorization: Bearer $token" "$base/v1/workflows/1/phases/say/runs/1/log?$1"; }
    [[ $(part max=1000 | gojq -r .text) = *"step 1 loss 2"*"hälfte � ende"* ]]
    next=0
    : >"$PHASED_HOME/text"
    while [ "$next" -lt "$(part max=1 | gojq .size)" ]; do
        part "offset=$next&max=7" | gojq -j .text >>"$PHASED_HOME/text"
        next=$(part "offset=$next&max=7" | gojq .next)
    done
    [ "$(cat "$PHASED_HOME/text")" = "$(part max=1000 | gojq -r .text)" ]
    size=$(part max=4 | gojq .size)
    [ "$(part max=1000 | gojq .next)" = "$size" ]
    truncate -s "$((size - 1))" "$PHASED_HOME/runs/1/say/1/log/rank-0.log"
    printf '\377' >>"$PHASED_HOME/runs/1/say/1/log/rank-0.log" # no letter begins so
    [ "$(part max=1000 | gojq .next)" = "$size" ]
    printf '\303' >>"$PHASED_HOME/runs/1/say/1/log/rank-0.log" # the rest of the letter may come
    [ "$(part max=1000 | gojq .next)" = "$size" ]
    printf '\244' >>"$PHASED_HOME/runs/1/say/1/log/rank-0.log"
    [ "$(part "offset=$size&max=1" | gojq -r .text)" = ä ]
    [ "$(code '/v1/workflows/1/phases/say/runs/1/log?rank=7' -H "Authorization: Bearer $token")" = 404 ]
    log=$PHASED_HOME/runs/1/say/1/log
    [ "$(part max=1 | gojq .earlier)" = null ]
    touch "$log/rank-0.previous.log"
    [ "$(part max=1 | gojq .earlier)" = true ]
    mv "$log" "$log.away"
    logs() { code /v1/workflows/1/phases/say/runs/1/logs -H "Authorization: Bearer $token"; }
    [ "$(logs)" = 200 ] # no log yet
    touch "$log"
    [ "$(logs)" = 500 ]
    gojq -e '.error.message | contains("Not a directory")' "$PHASED_HOME/reply"
}

@test "people do in a browser what they do with phasectl" {
    command -v chromedriver >/dev/null || skip 'there is no chromium with its driver'
    /usr/bin/python3 -B "$SRC/tests/system/page.py" prepare
    /usr/bin/python3 -B "$SRC/tests/system/page.py" check "$url" | tee "$PHASED_HOME/page.tap"
    grep -q '^1\.\.' "$PHASED_HOME/page.tap"
    ! grep -q '^not ok' "$PHASED_HOME/page.tap"
}

@test "a browser goes through thousands of workflows, and searches them" {
    command -v chromedriver >/dev/null || skip 'there is no chromium with its driver'
    phasectl daemon stop
    {
        echo 'CREATE TEMP TABLE size AS SELECT 3000 AS finished, 1 AS live;'
        cat "$SRC/tests/bench/fill.sql"
        cat <<'SQL'
UPDATE workflow SET name = 'needle' WHERE id = 7;
UPDATE phase SET gpus_per_node = 4, nodes = 2, attempts = 2 WHERE state = 'held';
INSERT INTO run (phase, attempt, state, outcome, job, seat, in_place, begun, resume_step, last_step,
                 exit_code, signal, submitted, started, ended)
    SELECT phase, 2, run.state, outcome, job, seat, 1, 1, -1, -1, 0, 0, submitted, started, ended
      FROM run JOIN phase ON phase.id = run.phase WHERE phase.state = 'held';
INSERT INTO gpu (run, node, number)
    WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 7)
    SELECT (SELECT max(id) FROM run), 'n' || (1 + i / 4), i % 4 FROM n;
INSERT INTO metric_name (name) VALUES ('deep');
INSERT INTO metric (run, name, step, value, time)
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 120000)
    SELECT run.id, (SELECT id FROM metric_name WHERE name = 'deep'), i,
           iif(i = 70001, -5, 2 + i % 2), 1790000000000 + i
      FROM run, n
     WHERE attempt = 1 AND run.phase = (SELECT phase FROM run ORDER BY id DESC LIMIT 1);
INSERT INTO gpu (run, node, number)
    SELECT id, 'n3', 0 FROM run
     WHERE attempt = 1 AND phase = (SELECT phase FROM run ORDER BY id DESC LIMIT 1);
INSERT INTO sample (gpu, seconds, time, util)
    WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 359)
    SELECT gpu.id, 10, 1790000000000 + n.i * 10000,
           CASE WHEN node = 'n3' THEN 20 WHEN node = 'n2' AND number = 3 AND i >= 180 THEN 0 ELSE 90 END
      FROM gpu, n;
SQL
    } | sqlite3 "$PHASED_HOME/phased.db" >/dev/null
    phasectl daemon start
    run -0 --separate-stderr phasectl runs --json
    [ "$(gojq length <<<"$output")" = 1000 ]
    [ "$stderr" = 'phasectl: only the newest 1000 runs were looked at' ]
    url=$(phasectl open --json | gojq -r .url)
    /usr/bin/python3 -B "$SRC/tests/system/page.py" many "$url" | tee "$PHASED_HOME/page.tap"
    grep -q '^1\.\.' "$PHASED_HOME/page.tap"
    ! grep -q '^not ok' "$PHASED_HOME/page.tap"
}
