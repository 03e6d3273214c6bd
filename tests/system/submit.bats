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

repository() {
    git init -q .
    git config user.email anna@example.org
    git config user.name Anna
    mkdir sub was_a_folder
    for file in sub/one.txt two.txt was_a_folder/three.txt; do echo x >"$file"; done
    git add .
    git commit -qm first
}

copies() { ls -A "$PHASED_HOME/snapshots"; }

@test "a snapshot leaves out what is not there, and fails if a file cannot be read" {
    command -v git || skip "git is not installed"
    repository
    rm -r two.txt was_a_folder
    touch was_a_folder
    run -1 --separate-stderr phasectl submit "$BATS_TEST_TMPDIR/frozen.yaml"
    [ "$stderr" = "$nobody" ] # the copy was made, and then nobody took it
    if [ "$(id -u)" = 0 ]; then # root can read all files
        rm -r sub
        ln -s sub sub
    else
        chmod 000 sub/one.txt
    fi
    run -1 --separate-stderr phasectl submit "$BATS_TEST_TMPDIR/frozen.yaml"
    [[ $stderr == "phasectl: could not copy $PWD to "*": tar: sub/one.txt: Warning: Cannot "* ]]
    [ -z "$(copies)" ]
}

@test "a snapshot fails if git cannot open a folder, and not for another warning of git" {
    command -v git || skip "git is not installed"
    local name
    repository
    ln -s loop "$BATS_TEST_TMPDIR/loop"
    git config core.excludesFile "$BATS_TEST_TMPDIR/loop"
    [[ $(git ls-files --others --exclude-standard 2>&1) = "warning: "* ]]
    run -1 --separate-stderr phasectl submit "$BATS_TEST_TMPDIR/frozen.yaml"
    [ "$stderr" = "$nobody" ]
    name=$(printf 'x%.0s' {1..250})
    (for _ in {1..17}; do mkdir "$name" && cd "$name" || exit; done) # root cannot open it either
    run -1 --separate-stderr phasectl submit "$BATS_TEST_TMPDIR/frozen.yaml"
    [[ $stderr == "phasectl: could not copy $PWD to "*": warning: could not open directory 'x"* ]]
    [ -z "$(copies)" ]
}

@test "a copy that a killed submission left is not taken for a whole one, and is removed later" {
    command -v git || skip "git is not installed"
    repository
    mkdir "$BATS_TEST_TMPDIR/bin"
    cat >"$BATS_TEST_TMPDIR/bin/tar" <<'SH'
#!/bin/bash
[ "$1" != --create ] || exec /usr/bin/env PATH="${PATH#*:}" tar "$@"
echo part >"${2#--directory=}/part"
kill -KILL "$SUBMIT"
SH
    chmod +x "$BATS_TEST_TMPDIR/bin/tar"
    PATH=$BATS_TEST_TMPDIR/bin:$PATH run bash -c 'export SUBMIT=$$; exec phasectl submit "$1"' bash "$BATS_TEST_TMPDIR/frozen.yaml"
    [ "$status" = 137 ]
    [[ $(copies) = *.part ]]
    mkdir "$PHASED_HOME"/snapshots/{whole,old.part,half.gone}
    touch -d '2 hours ago' "$PHASED_HOME"/snapshots/{whole,old.part}
    run -1 --separate-stderr phasectl submit "$BATS_TEST_TMPDIR/frozen.yaml"
    [ "$stderr" = "$nobody" ]
    [[ $(copies) = *.part$'\n'whole ]] # the young part may belong to a submission that copies now
    touch -d '2 hours ago' "$PHASED_HOME"/snapshots/*.part
    run -1 phasectl submit "$BATS_TEST_TMPDIR/frozen.yaml"
    [ "$(copies)" = whole ]
}
