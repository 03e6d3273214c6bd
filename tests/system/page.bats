#!/usr/bin/env bats
# The web page: who may use it, what it serves, and what people do with it in a browser (page.py).

load phased.bash

setup_file() { sandbox_up 2; }
teardown_file() { sandbox_down; }
setup() {
    home_up
    phasectl daemon start
    url=$(phasectl open --json | jq -r .url)
    token=${url#*#} base=${url%%/#*}
}
teardown() { home_down; }

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
    [ "$(code /v1/ping -H "Authorization: Bearer $token" -H 'Host: evil.example')" = 403 ]
    [ "$(code /../phased.db -H "Authorization: Bearer $token" --path-as-is)" = 404 ]
    curl -si "$base/" | grep -qi "^Content-Security-Policy: default-src 'none'; script-src 'self'"
}

@test "only this machine reaches the page, and a new daemon has a new token" {
    port=${base##*:}
    ss -Hltn "sport = :$port" | grep -q "127.0.0.1:$port"
    [ "$(ss -Hltn "sport = :$port" | wc -l)" = 1 ]
    [ "$(phasectl open --json | jq -r .url)" = "$url" ]
    phasectl daemon stop
    phasectl daemon start
    next=$(phasectl open --json | jq -r .url)
    [ "${next%%/#*}" = "$base" ] # a tunnel stays good
    [ "${next#*#}" != "$token" ]
    [ "$(code /v1/ping -H "Authorization: Bearer $token")" = 403 ]
    ! grep -rqF "${next#*#}" "$PHASED_HOME"
}

@test "on a desktop the page is opened, and no other user sees its token" {
    mkdir "$PHASED_HOME/bin"
    printf '#!/bin/sh\necho "$@" >%s/opened\n' "$PHASED_HOME" >"$PHASED_HOME/bin/xdg-open"
    chmod +x "$PHASED_HOME/bin/xdg-open"
    PATH=$PHASED_HOME/bin:$PATH DISPLAY='' WAYLAND_DISPLAY='' phasectl open
    PATH=$PHASED_HOME/bin:$PATH DISPLAY=:7 phasectl open --json
    [ ! -e "$PHASED_HOME/page.html" ]
    PATH=$PHASED_HOME/bin:$PATH DISPLAY=:7 phasectl open
    eventually 10 grep -qx "$PHASED_HOME/page.html" "$PHASED_HOME/opened"
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
    [[ $(part max=1000 | jq -r .text) = *"step 1 loss 2"*"hälfte � ende"* ]]
    next=0
    : >"$PHASED_HOME/text"
    while [ "$next" -lt "$(part max=1 | jq .size)" ]; do
        part "offset=$next&max=7" | jq -j .text >>"$PHASED_HOME/text"
        next=$(part "offset=$next&max=7" | jq .next)
    done
    [ "$(cat "$PHASED_HOME/text")" = "$(part max=1000 | jq -r .text)" ]
    size=$(part max=4 | jq .size)
    [ "$(part max=1000 | jq .next)" = "$size" ]
    truncate -s "$((size - 1))" "$PHASED_HOME/runs/1/say/1/log/rank-0.log"
    printf '\377' >>"$PHASED_HOME/runs/1/say/1/log/rank-0.log" # no letter begins so
    [ "$(part max=1000 | jq .next)" = "$size" ]
    printf '\303' >>"$PHASED_HOME/runs/1/say/1/log/rank-0.log" # the rest of the letter may come
    [ "$(part max=1000 | jq .next)" = "$size" ]
    printf '\244' >>"$PHASED_HOME/runs/1/say/1/log/rank-0.log"
    [ "$(part "offset=$size&max=1" | jq -r .text)" = ä ]
    [ "$(code '/v1/workflows/1/phases/say/runs/1/log?rank=7' -H "Authorization: Bearer $token")" = 404 ]
}

@test "people do in a browser what they do with phasectl" {
    command -v chromedriver >/dev/null || skip 'there is no chromium with its driver'
    /usr/bin/python3 "$SRC/tests/system/page.py" prepare
    /usr/bin/python3 "$SRC/tests/system/page.py" check "$url" | tee "$PHASED_HOME/page.tap"
    grep -q '^1\.\.' "$PHASED_HOME/page.tap"
    ! grep -q '^not ok' "$PHASED_HOME/page.tap"
}
