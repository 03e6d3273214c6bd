#!/usr/bin/env bats
# The guides and README.md do what they say. `page.py` runs every command of a page, except those that a
# test here leaves out by --without, with the reason. pages.bats does the same for the other pages.

load phased.bash

setup_file() { sandbox_up 2; }
teardown_file() { sandbox_down; }
setup() {
    home_up
    WORK=$PHASED_HOME/work
    mkdir "$WORK"
}
teardown() { home_down; }

@test "doc/guide/port-your-sbatch-script.md does what it says" {
    cp "$SRC/tests/system/pages/train.py" "$WORK"
    phasectl daemon start
    page doc/guide/port-your-sbatch-script.md "$WORK"
}

# The trainer of README.md is a stand-in, and so is torchrun. The first two commands compile for
# minutes, as the third does: tests/distributions runs them. workstation.bats runs the sandbox with GPUs.
@test "README.md does what it says" {
    mkdir "$WORK/bin" "$WORK/etc"
    cp -r "$SRC/etc/workflows" "$WORK/etc"
    cp "$SRC/tests/system/pages/train.py" "$WORK"
    printf '#!/bin/sh\nshift 2\nexec python3 "$@"\n' >"$WORK/bin/torchrun"
    chmod +x "$WORK/bin/torchrun"
    export PATH=$WORK/bin:$PATH PAGE_PAUSE_S=0.002 PAGE_LOOPS=1
    export PHASED_NVML=$BIN/../tests/fake/libnvidia-ml.so FAKE_NVML=h100
    (cd "$WORK" && python3 train.py --steps 200 --lr 0.001 --out . >old.log)
    phasectl daemon start
    page README.md "$WORK" \
        --without "$(grep -F './quickstart demo  ' "$SRC/README.md")" \
        --without "$(grep -F './quickstart stop  ' "$SRC/README.md")" \
        --without './quickstart build && export PATH=$PWD/build/bin:$PATH' \
        --without "$(grep -F 'phasectl sandbox start  ' "$SRC/README.md")"
}

# The laptop and the cluster have a home each. A GPU of the cluster is broken.
@test "doc/guide/laptop-to-cluster.md does what it says" {
    export HOME=$PHASED_HOME/home PHASED_NVML=$BIN/../tests/fake/libnvidia-ml.so FAKE_NVML_n1=ecc=0
    mkdir "$HOME"
    laptop page doc/guide/laptop-to-cluster.md "$WORK" --end 'On the cluster'
    page doc/guide/laptop-to-cluster.md "$WORK" --begin 'On the cluster'
}

# The pages follow each other in one home, as doc/guide/README.md begins them. They show the commit.
@test "doc/guide/README.md, two-phases.md and distillation.md do what they say" {
    mkdir -p "$WORK/etc"
    cp -r "$SRC/etc/workflows" "$WORK/etc"
    git -C "$WORK" init -q -b main
    git -C "$WORK" add .
    git -C "$WORK" -c user.name=anna -c user.email=anna@localhost commit -q -m first
    laptop walk
}

walk() {
    # It compiles for minutes. tests/distributions runs it.
    page doc/guide/README.md "$WORK" --without \
        './quickstart build          # once; the programs are in build/bin' &&
        page doc/guide/two-phases.md "$WORK" &&
        page doc/guide/distillation.md "$WORK/etc/workflows"
}

# laptop COMMAND...: runs the command where the only Slurm is the one that it starts.
laptop() {
    local status=0 HOME=$PHASED_HOME/laptop
    local PHASED_HOME=$HOME/.phased
    mkdir -p "$PHASED_HOME"
    (
        unset SLURM_CONF
        "$@"
    ) || status=$?
    phasectl daemon stop || true
    phasectl sandbox stop || true
    return $status
}
