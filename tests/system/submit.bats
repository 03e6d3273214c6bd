#!/usr/bin/env bats
# phasectl submit: what it finds out, and the copies that it makes, before it asks the daemon. There is
# no daemon here.

bats_require_minimum_version 1.5.0

setup() {
    BIN=${BIN:-$BATS_TEST_DIRNAME/../../build/bin}
    export PATH=$BIN:$PATH PHASED_HOME=$BATS_TEST_TMPDIR/home
    unset PHASED_HOST
    mkdir "$BATS_TEST_TMPDIR/code"
    cd "$BATS_TEST_TMPDIR/code" || return
    spec live >"$BATS_TEST_TMPDIR/live.yaml"
    spec snapshot >"$BATS_TEST_TMPDIR/frozen.yaml"
    nobody="phasectl: no daemon is running for $PHASED_HOME; start it with 'phasectl daemon start'"
}

# spec CODE
spec() {
    cat <<YAML
name: coded
code: $1
phases:
  only:
    resources: {gpus: h100:1, time: 5m}
    run: ls
YAML
}

@test "a folder that is gone, or is not UTF-8, is refused before anything is copied" {
    local verb
    for verb in submit plan; do
        mkdir gone
        cd gone
        rmdir ../gone
        run -1 --separate-stderr phasectl $verb "$BATS_TEST_TMPDIR/frozen.yaml"
        [ "$stderr" = "phasectl: the current folder is gone" ]
        cd ..
        mkdir $'\xff'
        cd $'\xff'
        run -1 --separate-stderr phasectl $verb "$BATS_TEST_TMPDIR/frozen.yaml"
        [[ $stderr == "phasectl: the current folder is not UTF-8 text: $BATS_TEST_TMPDIR/code/"* ]]
        cd ..
        rmdir $'\xff'
    done
    [ ! -e "$PHASED_HOME/snapshots" ]
    unset OLDPWD # it is not UTF-8, and submit says so
    run -1 --separate-stderr phasectl submit "$BATS_TEST_TMPDIR/live.yaml"
    [ "$stderr" = "$nobody" ]
}
