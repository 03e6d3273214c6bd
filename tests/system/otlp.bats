#!/usr/bin/env bats
# phasectl events --otlp: what has ended, as spans for a collector of OpenTelemetry.

load phased.bash
bats_require_minimum_version 1.5.0

setup_file() { sandbox_up; }
teardown_file() { sandbox_down; }
setup() {
    home_up
    cd "$PHASED_HOME" || return
    unset "${!OTEL_@}"
    phasectl daemon start
    mkdir got
}
teardown() {
    collector_stop
    [ -n "${BATS_TEST_COMPLETED:-}" ] || sed 's/^/# /' got/breaches said 2>/dev/null || true
    home_down
}

collector_start() {
    python3 "$BATS_TEST_DIRNAME/collector.py" got 3>&- &
    collector=$!
    eventually 60 answers
    export OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:$(cat got/port)
}

answers() { [ -s got/port ] && socat -u OPEN:/dev/null "TCP:127.0.0.1:$(cat got/port)"; }

collector_stop() {
    [ -z "${collector:-}" ] || kill "$collector" 2>/dev/null || true
    collector=
}

# spans FILTER: what gojq finds in the list of all spans that came. A member `a` has the attributes.
spans() {
    [ ! -e got/breaches ] || return
    gojq -cs "map(.a = .attributes) | $1" got/spans
}

# has_span NAME: it came.
has_span() { spans "any(.name == \"$1\")" | grep -q true; }

# The first phase fails once, and is held. The second phase fails.
twice() {
    cat <<'SPEC'
name: twice
price: {per_gpu_hour: 3600}
phases:
  first:
    resources: {nodes: 1, gpus: h100:2, time: 10m}
    launch: node
    preflight: off
    run: |
      echo step=1 loss=4
      [ -e "$PHASED_OUT/seen" ] || { touch "$PHASED_OUT/seen"; exit 3; }
      echo step=2 loss=2
      echo model >"$PHASED_OUT/model_2"
    checkpoint: {path: "$PHASED_OUT/model_{step}"}
    gate: {falling: last(loss) < first(loss) + 1}
  second:
    after: first
    resources: {nodes: 1, gpus: h100:1, time: 10m}
    preflight: off
    on_fail: fail
    run: exit 5
SPEC
}

@test "a workflow is a trace of its phases and runs, with outcomes, events and links" {
    collector_start
    twice | submit
    eventually 60 state 1/first held
    phasectl retry 1/first
    eventually 60 state 1 failed
    run -0 phasectl events --otlp
    [ "$output" = '6 spans sent, 0 refused' ]
    [ "$(sort -u got/requests)" = '/v1/traces application/json 200' ]
    spans '[.[].name] == ["first#1", "first#2", "first", "second#1", "second", "twice"] and
        (map(.traceId) | unique | length) == 1 and (map(.spanId) | unique | length) == 6' | grep -q true
    # Parents: a run in its phase, a phase in the workflow.
    spans '(map({(.name): .spanId}) | add) as $id | map({(.name): .parentSpanId}) | add == {
        "first#1": $id.first, "first#2": $id.first, first: $id.twice, "second#1": $id.second,
        second: $id.twice, twice: ""}' | grep -q true
    # Each lies within its parent, and the link leads to the attempt before.
    spans '(map({(.spanId): .}) | add) as $by | map(select(.parentSpanId != "") |
        $by[.parentSpanId] as $p | .startTimeUnixNano >= $p.startTimeUnixNano and
        .endTimeUnixNano <= $p.endTimeUnixNano) | all' | grep -q true
    spans '.[1].links == [{traceId: .[0].traceId, spanId: .[0].spanId, attributes: []}] and
        (.[0] | has("links") | not)' | grep -q true
    spans '.[0] | [.status.code, .a["phased.address"], .a["phased.outcome"], .a["phased.exit_code"],
        (.a["phased.nodes"] | length), .a["phased.gpus"], (.a["phased.job_id"] | type)] ==
        [2, "1/first#1", "failed", 3, 1, 2, "number"] and (.status.message | length > 0)' | grep -q true
    spans '.[1] | .status == {code: 1} and ([.events[].name] | index("checkpoint") != null)' | grep -q true
    spans '.[2] | .status == {code: 1} and .a["phased.cost_usd"] > 0 and .a["phased.attempts"] == 2 and
        ([.events[].name] | index("gate") != null and index("promotion") != null)' | grep -q true
    spans '.[5] | .status.code == 2 and (.status.message | startswith("second: ")) and
        .a["phased.state"] == "failed" and .resource["service.name"] == "phased"' | grep -q true

    run -0 phasectl events --otlp # all is sent
    [ "$output" = '0 spans sent, 0 refused' ]
    phasectl events --otlp --json | gojq -e '. == {sent: 0, refused: 0}'
    run -0 phasectl events 1/first --otlp # and can be sent again, under the same ids
    [ "$output" = '3 spans sent, 0 refused' ]
    spans '(.[6:9] | map([.spanId, .traceId, .endTimeUnixNano])) == (.[0:3] | map([.spanId, .traceId, .endTimeUnixNano]))' | grep -q true
}

@test "following, a span is sent when its run has ended, also after a collector and a daemon that were away" {
    local follower
    collector_start
    phasectl events --otlp --follow >printed 2>said 3>&- &
    follower=$!
    two_phases | submit
    eventually 60 has_span two
    run -1 phasectl events --otlp
    [[ $output == *"another 'phasectl events --otlp' is running"* ]]
    collector_stop
    two_phases | submit
    eventually 60 state 2 succeeded
    eventually 60 grep -q '^phasectl: cannot reach the collector at http://127.0.0.1:.*; waiting for it$' said
    phasectl daemon stop
    phasectl daemon start
    collector_start
    two_phases | submit
    eventually 90 spans_are 15
    kill -INT $follower
    status=0
    wait $follower || status=$?
    [ $status = 0 ]
    [ "$(cat printed)" = '15 spans sent, 0 refused' ]
    spans '(map(.spanId) | unique | length) == 15 and (map(.traceId) | unique | length) == 3' | grep -q true
    run -0 phasectl events --otlp
    [ "$output" = '0 spans sent, 0 refused' ]
}

spans_are() { [ "$(spans length)" = "$1" ]; }

@test "spans that a collector refuses are counted and told, and those that it cannot take now are kept" {
    collector_start
    two_phases | submit
    eventually 60 state 1 succeeded
    echo 503 >got/status
    run -1 phasectl events --otlp
    [[ $output == *"phasectl: the collector at $OTEL_EXPORTER_OTLP_ENDPOINT/v1/traces answers with HTTP status 503"* ]]
    for answer in 302 401 404 500; do # the token or the address is wrong: nothing is given up
        echo $answer >got/status
        run -1 timeout 60 phasectl events --otlp --follow
        [[ $output == *"phasectl: the collector at $OTEL_EXPORTER_OTLP_ENDPOINT/v1/traces answers with HTTP status $answer"* ]]
        [[ $output == *'0 spans sent, 0 refused'* && ! -e otlp.json ]]
    done
    rm got/status
    echo '{"partialSuccess": {"rejectedSpans": "2", "errorMessage": "too \u001b[31m old"}}' >got/reply
    run -1 phasectl events --otlp
    [[ $output == *"phasectl: the collector has refused 2 spans: too "*" old"* && $output != *$'\033'* ]]
    [[ $output == *'3 spans sent, 2 refused' ]]
    echo 400 >got/status
    run -1 phasectl events --otlp --after 0
    [[ $output == *"phasectl: the collector has refused 5 spans: HTTP status 400"* ]]
    [[ $output == *'0 spans sent, 5 refused' ]]
}

@test "the variables of OpenTelemetry say where spans go, with which headers and which name" {
    local endpoint headers
    run -1 phasectl events --otlp
    [[ $output == *'--otlp needs the address of a collector in OTEL_EXPORTER_OTLP_ENDPOINT'* ]]
    OTEL_EXPORTER_OTLP_ENDPOINT=anna:secret@localhost:4318 run -1 phasectl events --otlp
    [[ $output == *'the address of the collector must begin with http:// or https://'* && $output != *secret* ]]
    collector_start
    endpoint=$OTEL_EXPORTER_OTLP_ENDPOINT
    two_phases | submit
    eventually 60 state 1 succeeded
    for headers in 'a=1,authorization=Basic%0a' 'a=1,b=secret%00' 'a=1,b=secret%2' 'a=1,secret' 'a=1,b=' \
        'a=1, b = ' 'a=1,b=%20' 'a=1,=secret' 'a=1,b c=secret' 'a=1,b:=secret'; do
        OTEL_EXPORTER_OTLP_HEADERS=$headers run -1 phasectl events --otlp
        [[ $output == *'OTEL_EXPORTER_OTLP_HEADERS must be a list of key=value,key=value: entry 2 has '* ]]
        [[ $output != *secret* ]]
    done
    export OTEL_EXPORTER_OTLP_HEADERS='authorization = Basic%20c2VjcmV0 , ,x-tenant=anna'
    OTEL_EXPORTER_OTLP_ENDPOINT=$endpoint/base/ OTEL_SERVICE_NAME=training phasectl events --otlp
    spans 'all(.headers.authorization == "Basic c2VjcmV0" and .headers["x-tenant"] == "anna" and
        .resource["service.name"] == "training")' | grep -q true
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=$endpoint/mine phasectl events 1/first --otlp
    [ "$(cut -d' ' -f1 got/requests | xargs)" = '/base/v1/traces /mine' ]
}
