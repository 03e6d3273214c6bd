#!/usr/bin/env bats
# Pages do what they say, apart from those of guide.bats, and every page with commands has a test that
# runs them. See pages/README.md.

load phased.bash

setup_file() { sandbox_up 2; }
teardown_file() { sandbox_down; }
setup() {
    home_up
    export HOME=$PHASED_HOME/home WORK=$PHASED_HOME/work
    mkdir "$HOME" "$WORK"
    ln -s "$PHASED_HOME" "$HOME/.phased"
}
teardown() { home_down; }

# Healthy GPUs on each node: a scripted driver, and a script in place of the program that measures.
gpus_up() {
    export PHASED_NVML=$BIN/../tests/fake/libnvidia-ml.so FAKE_NVML= PHASED_PREFLIGHT_GPU=$WORK/gpu
    # The disk and the clock are those of the machine that runs the tests.
    sed 's/^scratch_free_mib:.*/scratch_free_mib: 0/; /^clock_error_ms/d' "$SRC/etc/preflight.yaml" >"$WORK/all.yaml"
    export PHASED_PREFLIGHT_THRESHOLDS=$WORK/all.yaml
    cat >"$PHASED_PREFLIGHT_GPU" <<'GPU'
#!/bin/bash
for gpu in 0 1 2 3 4 5 6 7; do
    case $2 in
    hbm) printf '%s\n' "hbm_copy_gbps $gpu 0 3100" "hbm_triad_gbps $gpu 0 3000" ;;
    matrix) echo "matrix_tflops $gpu 0 700" ;;
    copies) printf '%s\n' "host_to_device_gbps $gpu 0 55" "device_to_host_gbps $gpu 0 54" ;;
    peers) for to in 0 1 2 3 4 5 6 7; do [ $to = $gpu ] || echo "peer_gbps $gpu $to 380"; done ;;
    esac
done
if [ "$2" = allreduce ]; then # --groups 'tensor:0-3/4-7;data:0,4/1,5/2,6/3,7'
    words=$*
    groups=${words#*--groups } # the other options may come in any order
    IFS=';' read -ra kinds <<<"${groups%% *}"
    for kind in "${!kinds[@]}"; do
        IFS=/ read -ra groups <<<"${kinds[kind]}"
        for group in "${!groups[@]}"; do echo "allreduce_gbps $kind $group 470"; done
    done
fi
echo end
GPU
    chmod +x "$PHASED_PREFLIGHT_GPU"
}

@test "doc/preflight.md and phase-preflight(1) do what they say, with scripted GPUs" {
    gpus_up
    # No baseline has the figure of two nodes yet, as the page says. The exit code is then 3.
    two_nodes=$(sed -n '/^srun -N2/,/[^\\]$/p' "$SRC/doc/preflight.md")
    page doc/preflight.md "$WORK" --without "$two_nodes"
    cd "$WORK"
    run bash -c "$two_nodes"
    [ "$status" = 3 ]
    grep 'on 2: 470' h200-0.yaml h200-1.yaml
    page doc/man/phase-preflight.1 "$WORK"
}

@test "doc/guide/validate-a-cluster.md does what it says, with scripted GPUs" {
    gpus_up
    export FAKE_NVML=h100
    phasectl daemon start
    page doc/guide/validate-a-cluster.md "$WORK"
}

@test "doc/metrics.md does what it says" {
    phasectl daemon start
    id=$(two_phases | submit)
    eventually 90 state "$id" succeeded
    # It is not a part of phased, and serves a page until it is stopped. export.bats reads the files.
    page doc/metrics.md "$WORK" --without 'tensorboard --logdir ~/events'
    [ -n "$(find "$HOME/events" -type f)" ]
}

@test "doc/record.md does what it says, and the environments are gone" {
    phasectl daemon start
    id=$(two_phases | submit)
    eventually 90 state "$id" succeeded
    [ "$(record "SELECT count(*) FROM workflow WHERE environment != '{}'")" = 1 ]
    page doc/record.md "$WORK"
    [ "$(record "SELECT count(*) FROM workflow WHERE environment != '{}'")" = 0 ]
    [ -z "$(find "$PHASED_HOME/runs" -name run.json)" ]
}

@test "phasectl(1) does what it says" {
    cp "$SRC/etc/workflows/demo.yaml" "$WORK"
    phasectl daemon start
    # Its gate holds the workflow, as the page says. The exit code is then 1.
    held=$(grep '^phasectl submit' "$SRC/doc/man/phasectl.1")
    cd "$WORK"
    run bash -c "$held"
    [ "$status" = 1 ]
    state 1/validate held
    page doc/man/phasectl.1 "$WORK" --without "$held"
    eventually 60 state 1/validate succeeded
}

@test "doc/guide/demo.md does what it says" {
    mkdir -p "$WORK/etc"
    cp -r "$SRC/etc/workflows" "$WORK/etc"
    phasectl daemon start
    page doc/guide/demo.md "$WORK"
}

# What these pages tell a reader to run does not end, or wants more than a sandbox.
@test "monitoring.md, agents.md and etc/prolog do what they say" {
    phasectl daemon start
    # monitoring.bats runs the script that this loop runs.
    # otlp.bats runs the sender, with a collector.
    page doc/guide/monitoring.md "$WORK" \
        --without 'while sh ~/bin/phased-textfile; do sleep 15; done' \
        --without 'phasectl events --otlp --follow'
    # mcp.bats lets an assistant promote, and looks at the history.
    page doc/guide/agents.md "$WORK" --without 'phasectl why 1/first'
    # GPUs on nodes of these names. preflight.bats runs the Prolog.
    page etc/prolog/README.md "$WORK" \
        --without "$(grep '^srun -w good1' "$SRC/etc/prolog/README.md")" \
        --without "$(grep '^srun -w all' "$SRC/etc/prolog/README.md")"
}

@test "every page with commands has a test that runs them" {
    cd "$SRC"
    mapfile -t pages < <(find . -path './build*' -prune -o \( -name '*.md' -o -path './doc/man/*.[1-9]' \) -printf '%P\n' |
        sort | xargs python3 tests/system/pages/with_commands.py)
    [ "${#pages[@]}" -ge 15 ]
    for page in "${pages[@]}"; do
        case $page in
        worker/model/cuda/first_day.md) continue ;; # builds with CUDA, for GPUs of NVIDIA
        tests/README.md) continue ;;       # builds and runs tests in the build that this check uses
        tests/fuzz/README.md) continue ;;  # searches with clang for as long as one likes
        tests/storm/README.md) continue ;; # storms of an hour; storm.sh runs short ones
        esac
        grep -qF "page $page " tests/system/*.bats || { echo "no test runs the commands of $page"; false; }
    done
}

@test "a command is found wherever a page may have it" {
    for text in $'```\nphasectl status\n```' $'text\n\n    phasectl status\n' $'- one\n\n  ```sh\n  phasectl status\n  ```' \
        $'```bash\nfoo\n```' $'```\nA=1 sqlite3 file\n```'; do
        printf '%s\n' "$text" >"$WORK/page.md"
        [ "$(python3 "$SRC/tests/system/pages/with_commands.py" "$WORK/page.md")" = "$WORK/page.md" ]
    done
    printf '.Bd -literal\nname: a\n  phasectl x\n.Ed\n' >"$WORK/page.1"
    printf '```text\nphasectl status\n```\n\n```yaml\nphasectl: 1\n```\n' >"$WORK/page.md"
    [ -z "$(python3 "$SRC/tests/system/pages/with_commands.py" "$WORK/page.md" "$WORK/page.1")" ]
    echo '.Dl phasectl status' >>"$WORK/page.1"
    [ "$(python3 "$SRC/tests/system/pages/with_commands.py" "$WORK/page.1")" = "$WORK/page.1" ]
}
