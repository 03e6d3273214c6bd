#!/usr/bin/env bats
# What a monitoring system gets: /metrics for Prometheus, and the board of etc/grafana for Grafana.

load phased.bash
bats_require_minimum_version 1.5.0

setup_file() {
    sandbox_up
    export PHASED_NVML=$BIN/../tests/fake/libnvidia-ml.so BOARD=$SRC/etc/grafana/phased.json
}
teardown_file() { sandbox_down; }
setup() {
    home_up
    cd "$PHASED_HOME" || return
}
teardown() { home_down; }

# The queries of the board, one a line, with words in place of its variables.
expressions() {
    gojq -r '.. | .expr? // empty' "$BOARD" |
        sed 's/\$__rate_interval/5m/g; s/\$metric/loss/g; s/\$run/.+/g; s/\$workflow/.+/g'
}

# The metrics in these queries: the names that are left without texts, labels and groups.
metrics() {
    sed -E 's/\{[^}]*\}//g; s/(by|ignoring|on) *\([^)]*\)//g' | grep -oE '(phased|DCGM)_[A-Za-z0-9_]+' | sort -u
}

scrape() {
    curl -sS --fail --unix-socket phased.sock http://phased/metrics
}

# The names that have a value in what Prometheus reads.
scraped() {
    scrape | grep -v '^#' | sed 's/{.*//' | sort -u
}

# has_metrics NAME...: each of them has a value.
has_metrics() {
    [ -z "$(comm -23 <(printf '%s\n' "$@" | sort -u) <(scraped))" ]
}

# A run with GPUs, a price and both budgets that count on the board.
priced() {
    cat <<'SPEC'
name: priced
price: {per_gpu_hour: 3600}
budget: {usd: 100000, gpu_hours: 1000}
phases:
  train:
    resources: {nodes: 1, gpus: 8, time: 10m}
    launch: node
    preflight: off
    run: |
      until [ -e "$PHASED_OUT/enough" ]; do
        echo "step=$((++step)) loss=1 grad=2"
        sleep 0.4
      done
    env: {step: 0}
  next:
    after: train
    resources: {nodes: 1, gpus: 1, time: 1m}
    preflight: off
    run: "true"
SPEC
}

@test "each metric of the board is in /metrics of a daemon that trains" {
    local names
    phasectl daemon start
    priced | submit
    mapfile -t names < <({
        expressions
        gojq -r '.templating.list[].definition? // empty' "$BOARD" | sed 's/, [a-z_]*)$//'
    } | metrics)
    [ ${#names[@]} -ge 12 ]
    eventually 90 has_metrics "${names[@]}" || {
        comm -23 <(printf '%s\n' "${names[@]}") <(scraped)
        false
    }
    scrape >metrics
    grep -qxF 'phased_workflow_state{workflow="1",name="priced",state="running"} 1' metrics
    grep -qxF 'phased_phases{workflow="1",name="priced",state="blocked"} 1' metrics
    grep -qxF 'phased_phases{workflow="1",name="priced",state="active"} 1' metrics
    grep -qxF 'phased_workflow_budget{workflow="1",name="priced",unit="gpu_hours"} 1000' metrics
    grep -qE '^phased_workflow_cost_usd\{workflow="1",name="priced"\} [1-9]' metrics
    if command -v promtool; then
        run promtool check metrics <metrics
        [ "$status" != 1 ] # 3: there are remarks on style, such as those on names of dcgm-exporter
        [ -z "$(grep -vE "^DCGM_|not 'camelCase'$" <<<"$output")" ]
    fi
    touch runs/1/train/out/enough
    eventually 60 state 1 succeeded
    scrape | grep -qxF 'phased_phases{workflow="1",name="priced",state="succeeded"} 2'
}

@test "the commands of the guide write a file for the textfile collector, with the home as a label" {
    local commands
    phasectl daemon start
    commands=$(sed -n '/^```sh bin/,/^```$/p' "$SRC/doc/guide/monitoring.md" | grep -v '^```')
    [[ $commands == *phased.sock* ]]
    priced | submit
    eventually 60 state 1/train active
    mkdir out
    USER=anna TEXTFILES=$PWD/out bash -c "$commands"
    grep -qxF 'phased_workflow_state{home="anna",workflow="1",name="priced",state="running"} 1' out/phased-anna.prom
    [ "$(grep -v '^#' out/phased-anna.prom | grep -cv '{home="anna",')" = 0 ]
    phasectl daemon stop
    USER=anna TEXTFILES=$PWD/out bash -c "$commands"
    [ -z "$(ls -A out)" ] # old figures do not stay
}

@test "the queries of the board are PromQL" {
    command -v promtool || skip 'there is no promtool (package prometheus)'
    expressions | gojq -Rn '{groups: [{name: "board", rules: [foreach inputs as $expr (0; . + 1; {record: "a:b:\(.)", expr: $expr})]}]}' \
        >rules.yml
    run -0 promtool check rules rules.yml
    [[ $output == *" $(expressions | wc -l) rules found"* ]]
    sed 's/count by/count bby/' rules.yml >bad.yml
    run -1 promtool check rules bad.yml
}

@test "the board is a dashboard of Grafana that asks the chosen data source" {
    gojq -e '.title == "phased" and .schemaVersion >= 36 and .id == null and .uid == "phased"' "$BOARD"
    gojq -e '[.panels[].id] | length == (unique | length)' "$BOARD"
    gojq -e '[.panels[] | select(.type != "row") | .datasource, .targets[].datasource | .uid] |
        unique == ["${datasource}"]' "$BOARD"
    gojq -e '[.templating.list[] | .name] == ["datasource", "workflow", "run", "metric"]' "$BOARD"
    gojq -e '[.panels[] | select(.type != "row") | (.targets | length > 0) and (.description != "")] | all' "$BOARD"
    # Panels of a row of the grid are side by side: no two of them cover the same place.
    gojq -e '[.panels[].gridPos | . as $p | range($p.x; $p.x + $p.w) as $x | range($p.y; $p.y + $p.h) as $y |
        [$x, $y]] | length == (unique | length)' "$BOARD"
    gojq -e '[.panels[].gridPos | .x + .w <= 24] | all' "$BOARD"
}
