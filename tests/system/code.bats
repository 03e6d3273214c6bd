#!/usr/bin/env bats
# The code of a submission: what is recorded of it, and `code: snapshot`.

load cli.bash

# Makes a repository with a commit, a change, a new file and an ignored file, and goes there.
repository() {
    git init -q -b main repository
    cd repository
    git config user.email a@example.org
    git config user.name A
    mkdir sub
    echo 'echo first version' >sub/program.sh
    echo ignored >.gitignore
    git add -A
    git commit -q -m first
    echo 'echo second version' >sub/program.sh
    echo new >sub/new
    echo x >ignored
}

# coded CODE: a workflow that waits for the file `go`, and then runs a program of the folder.
coded() {
    cat <<YAML
name: coded
code: $1
phases:
  only:
    resources: {time: 5m}
    run: |
      until [ -e $BATS_TEST_TMPDIR/go ]; do sleep 0.1; done
      bash program.sh
      ls -A .. .
YAML
}

@test "a submission records its code: commit, changes, new files" {
    command -v git || skip "git is not installed"
    repository
    cd sub
    workflow 60 >../ignored
    run -0 phasectl submit ../ignored --hold
    id=${output#workflow } id=${id%% *}
    run -0 phasectl show "$id"
    [[ $output == *"$(git rev-parse HEAD) on main of $BATS_TEST_TMPDIR/repository"* ]]
    [[ $output == *"+1 -1 in 1 file, 1 new file"* ]]
    [[ "$(phasectl status "$id")" == *"code $(git rev-parse --short=12 HEAD) on main, with changes"* ]]
    # The recorded diff, put on the commit, gives the submitted files.
    git -C .. stash -q
    phasectl show "$id" --diff | git apply
    grep -q second program.sh
    [ "$(phasectl show "$id" --spec)" = "$(cat ../ignored)" ]
    phasectl show "$id" --environment | grep -q "^HOME=$HOME"
    phasectl cancel "$id"
    cd "$FOLDER"
    run -0 phasectl submit "$BATS_TEST_TMPDIR/repository/ignored" --hold
    id=${output#workflow } id=${id%% *}
    [[ "$(phasectl show "$id")" == *"not a git repository"* ]]
    phasectl cancel "$id"
}

@test "a submission says why it does not know the changes of its code, and does not wait for them" {
    command -v git || skip "git is not installed"
    repository
    mkdir ../bin
    cat >../bin/git <<SH
#!/bin/bash
case " \$* " in *" diff "*)
    [ ! -e $BATS_TEST_TMPDIR/hangs ] || exec sleep 1000
    echo "fatal: unable to read tree" >&2
    exit 128 ;;
esac
exec $(command -v git) "\$@"
SH
    chmod +x ../bin/git
    local PATH=$BATS_TEST_TMPDIR/bin:$PATH reason
    workflow 60 >ignored
    for reason in "fatal: unable to read tree" "git did not end within 20 s"; do
        run -0 timeout 60 phasectl submit ignored --hold
        id=${output#workflow } id=${id%% *}
        [[ $(phasectl show "$id") == *"not kept: git diff failed: $reason, 1 new file"* ]]
        phasectl cancel "$id"
        touch "$BATS_TEST_TMPDIR/hangs"
    done
}

@test "code: snapshot runs the files of the submission, whatever is edited meanwhile" {
    command -v git || skip "git is not installed"
    repository
    cd sub
    coded snapshot >"$BATS_TEST_TMPDIR/frozen.yaml"
    coded live >"$BATS_TEST_TMPDIR/live.yaml"
    run -0 phasectl submit "$BATS_TEST_TMPDIR/frozen.yaml" "$BATS_TEST_TMPDIR/live.yaml"
    frozen=${lines[0]#workflow } frozen=${frozen%% *} live=${lines[1]#workflow } live=${live%% *}
    echo 'echo third version' >program.sh
    touch "$BATS_TEST_TMPDIR/go"
    run -0 phasectl watch "$frozen"
    run -0 phasectl watch "$live"
    run -0 phasectl logs "$frozen/only"
    [[ $output == *"second version"*"new"*"program.sh"*".gitignore"*"sub"* ]]
    [[ $output != *ignored* ]]
    run -0 phasectl logs "$live/only"
    [[ $output == *"third version"* ]]
    [[ "$(phasectl show "$frozen")" == *"copy"*"$PHASED_HOME/snapshots/"*"/sub"* ]]
    # A submission that is refused leaves no copy behind, and neither does one without a daemon or one
    # whose copy fails.
    coded snapshot >../ignored
    run -1 --separate-stderr phasectl submit ../ignored nothing.yaml
    [ "$(find "$PHASED_HOME/snapshots" -mindepth 1 -maxdepth 1 | wc -l)" = 1 ]
    PHASED_HOME=$BATS_TEST_TMPDIR/away run -1 phasectl submit ../ignored
    mkdir "$BATS_TEST_TMPDIR/full"
    printf '#!/bin/sh\n[ "$1" = --create ] || echo part >%s/part\nexit 2\n' \
        '"${2#--directory=}"' >"$BATS_TEST_TMPDIR/full/tar"
    chmod +x "$BATS_TEST_TMPDIR/full/tar"
    PHASED_HOME=$BATS_TEST_TMPDIR/away PATH=$BATS_TEST_TMPDIR/full:$PATH run -1 phasectl submit ../ignored
    [[ $output == *"could not copy"* ]]
    [ -z "$(find "$BATS_TEST_TMPDIR/away/snapshots" -mindepth 1)" ]
    # A folder beside the repository is not in it, whatever the variables of git say.
    mkdir ../../repository-2
    cd ../../repository-2
    run -1 --separate-stderr env GIT_DIR=../repository/.git GIT_WORK_TREE=../repository \
        phasectl submit "$BATS_TEST_TMPDIR/frozen.yaml"
    [[ $stderr == *"code: snapshot needs a git repository"*"/repository-2 is not in one"* ]]
    # Without a repository there is nothing to copy, and nothing is queued.
    cd "$FOLDER"
    run -1 --separate-stderr phasectl submit "$BATS_TEST_TMPDIR/frozen.yaml"
    [[ $stderr == *"code: snapshot needs a git repository"* ]]
}
