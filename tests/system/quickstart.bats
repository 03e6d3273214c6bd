# quickstart with its own Makefile and its own phasectl: what it runs, and what it ends.

load process.bash

setup() {
    SRC=${SRC:-$BATS_TEST_DIRNAME/../..}
    DIR=$(mktemp -d /tmp/phased-test-XXXXXX)
    cp "$SRC/quickstart" "$DIR/"
    mkdir -p "$DIR/build/tests"
    printf '#!/bin/sh\n' >"$DIR/configure"
    chmod 755 "$DIR/configure"
    printf '#!/bin/sh\necho >>made\n' >"$DIR/autogen.sh"
    chmod 755 "$DIR/autogen.sh"
    mkdir "$DIR/.git" # a clone, and not the sources of `make dist`
    touch "$DIR/Makefile.in" "$DIR/configure.ac"
    cat >"$DIR/build/Makefile" <<'MAKE'
all: ; @mkdir -p bin
list-tests: ; @echo tests/unit/test_a; echo tests/system/b.bats; echo tests/sim/sim.sh; echo tests/system/demo.bats; echo tests/sim/mutations.sh; echo tests/system/build.bats
check: ; @echo "$(TESTS)" >ran; echo "$$PHASED_SIM_SEEDS" >>ran; echo ':test-result: PASS' >tests/a.trs; $(END)
MAKE
}

teardown() {
    kill -KILL $(jobs -pr) 2>/dev/null || true
    [ -n "${BATS_TEST_COMPLETED:-}" ] || [ -z "${CHILD:-}" ] || kill -KILL "$CHILD" || true
    rm -rf "$DIR"
}

@test "a quick check runs the unit tests, a short simulation and the demo" {
    run "$DIR/quickstart" check --quick
    [ "$status" = 0 ]
    [ "${lines[-1]}" = "1 passed, 0 failed" ]
    [ "$(cat "$DIR/build/ran")" = $'tests/unit/test_a tests/sim/sim.sh tests/system/demo.bats\n2000' ]
}

# fake_packages MISSING CONFIGURED: makes a Debian where all packages are installed but these, whose
# names have | between. `asked` gets what is asked of apt-get.
fake_packages() {
    mkdir "$DIR/bin"
    cat >"$DIR/bin/dpkg-query" <<SH
#!/bin/sh
shift 2
for name; do
    case \$name in
    $1) ;;
    $2) echo "config-files \$name" ;;
    *) echo "installed \$name" ;;
    esac
done
exit 1
SH
    printf '#!/bin/sh\necho "$@" >>%s/asked\n' "$DIR" >"$DIR/bin/apt-get"
    printf '#!/bin/sh\nexec "$@"\n' >"$DIR/bin/sudo"
    cp /bin/true "$DIR/bin/apt-cache"
    chmod 755 "$DIR"/bin/*
}

@test "packages that are missing are installed, and one of two that do the same is enough" {
    fake_packages gojq 'socat | libcurl4-openssl-dev'
    PATH=$DIR/bin:$PATH "$DIR/quickstart" check
    [[ $(cat "$DIR/asked") = *' install gojq socat' ]]
}

@test "packages of this machine are not removed for those that are missing" {
    fake_packages munge none
    cat >"$DIR/bin/apt-get" <<SH
#!/bin/sh
echo "\$@" >>$DIR/asked
case \$* in
*update) ;;
*) echo 'E: Packages need to be removed but remove is disabled.'; exit 100 ;;
esac
SH
    PATH=$DIR/bin:$PATH run "$DIR/quickstart" demo
    [ "$status" = 1 ]
    [[ ${lines[-1]} = *"to install munge, apt would have to remove packages of this machine, so nothing was installed; "*"'./quickstart build'"* ]]
    [ "$(grep install "$DIR/asked" | grep -vc -e --no-remove)" = 0 ]
}

@test "a build beside a Slurm that is not Debian's does not ask for Debian's libslurm" {
    fake_packages libslurm-dev gojq
    cp /bin/true "$DIR/bin/sinfo"
    PATH=$DIR/bin:$PATH "$DIR/quickstart" build
    [[ $(cat "$DIR/asked") = *' install libslurm-dev' ]]
    rm -r "$DIR/asked" "$DIR/bin"
    fake_packages 'libslurm-dev | slurm-client' gojq
    cp /bin/true "$DIR/bin/sinfo"
    PATH=$DIR/bin:$PATH "$DIR/quickstart" build
    [ ! -e "$DIR/asked" ]
}

@test "a build installs Slurm only where Slurm is missing, and a demo always needs its daemons" {
    local program
    fake_packages slurmctld munge
    fake_phasectl sandbox
    for program in bash cat dirname env grep id make mkdir nproc sed sh; do
        ln -s "$(command -v $program)" "$DIR/bin/"
    done
    PATH=$DIR/bin "$DIR/quickstart" build
    [[ $(cat "$DIR/asked") = *' install slurmctld munge' ]]
    rm "$DIR/asked"
    cp /bin/true "$DIR/bin/sinfo"
    PATH=$DIR/bin "$DIR/quickstart" build
    [ ! -e "$DIR/asked" ]
    PATH=$DIR/bin "$DIR/quickstart" demo
    [[ $(cat "$DIR/asked") = *' install slurmctld munge' ]]
}

@test "the configure script is made again until it and the Makefile are whole, and after packages change" {
    fake_packages none none
    printf '#!/bin/sh\necho >>%s/configured\n' "$DIR" >"$DIR/configure"
    export PATH=$DIR/bin:$PATH
    printf '#!/bin/sh\necho >>made\nexit 1\n' >"$DIR/autogen.sh"
    run "$DIR/quickstart" build
    [ "$status" = 1 ]
    printf '#!/bin/sh\necho >>made\n' >"$DIR/autogen.sh"
    "$DIR/quickstart" build
    "$DIR/quickstart" build
    [ "$(wc -l <"$DIR/made") $(wc -l <"$DIR/configured")" = '2 1' ]
    rm "$DIR/Makefile.in" # as a mending by hand leaves it
    printf '#!/bin/sh\necho >>made\ntouch Makefile.in\n' >"$DIR/autogen.sh"
    "$DIR/quickstart" build
    "$DIR/quickstart" build
    [ "$(wc -l <"$DIR/made") $(wc -l <"$DIR/configured")" = '3 2' ]
    printf '#!/bin/sh\necho automake 1.99\n' >"$DIR/bin/automake"
    chmod 755 "$DIR/bin/automake"
    "$DIR/quickstart" build
    [ "$(wc -l <"$DIR/made") $(wc -l <"$DIR/configured")" = '4 3' ]
}

@test "sources with a configure script are built where autoreconf is missing" {
    local program
    fake_packages none none
    for program in bash cat dirname env grep id make mkdir nproc sed sh tail; do
        ln -s "$(command -v $program)" "$DIR/bin/"
    done
    PATH=$DIR/bin "$DIR/quickstart" build
    [ ! -e "$DIR/made" ]
    rm "$DIR/configure"
    PATH=$DIR/bin run "$DIR/quickstart" build # autogen.sh says what is missing
    [ "$status" = 1 ]
    [ -e "$DIR/made" ]
}

@test "sources of make dist keep their configure script, whatever part of autotools is there" {
    fake_packages none none
    cp /bin/true "$DIR/bin/autoreconf"
    rmdir "$DIR/.git"
    PATH=$DIR/bin:$PATH "$DIR/quickstart" build
    [ ! -e "$DIR/made" ]
    rm "$DIR/Makefile.in" # without it configure fails
    PATH=$DIR/bin:$PATH "$DIR/quickstart" build
    [ -e "$DIR/made" ]
}

@test "a check leaves out the tests of the tests, unless CI is set or they are named" {
    env -u CI "$DIR/quickstart" check
    [ "$(head -n 1 "$DIR/build/ran")" = 'tests/unit/test_a tests/system/b.bats tests/sim/sim.sh tests/system/demo.bats' ]
    CI=true "$DIR/quickstart" check
    [[ $(head -n 1 "$DIR/build/ran") = *' tests/sim/mutations.sh tests/system/build.bats' ]]
    env -u CI "$DIR/quickstart" check sim/mut
    [ "$(head -n 1 "$DIR/build/ran")" = tests/sim/mutations.sh ]
}

@test "a check that a make has started runs the same tests" {
    MAKELEVEL=3 MAKEFLAGS='kw -j16 --jobserver-auth=98,99 -- TESTS=other' CI=true "$DIR/quickstart" check
    [ "$(head -n 1 "$DIR/build/ran" | wc -w)" = 6 ]
}

@test "a check ends the processes that the check before it has left, and nothing else" {
    END='sleep 600 & echo $$! >left; kill -KILL $$PPID' run "$DIR/quickstart" check
    [ "$status" != 0 ]
    CHILD=$(cat "$DIR/build/left")
    kill -0 "$CHILD"
    PHASED_CHECK=$DIR/other sleep 600 3>&- &
    OTHER=$!
    "$DIR/quickstart" check
    for _ in $(seq 500); do
        process_has_ended "$CHILD" && break
        sleep 0.02
    done
    process_has_ended "$CHILD"
    kill "$OTHER"
}

@test "a check names the tests that failed once more before it counts them" {
    END="printf '%s\\n' ':test-result: FAIL' ':test-result: ERROR' >tests/b.trs; printf '%s\\n' 'not ok 2 the second' '# why' 'ERROR: tests/b - exited with status 1' >tests/b.log" \
        run "$DIR/quickstart" check
    [ "$status" = 1 ]
    [ "$(printf '%s\n' "${lines[@]: -3}")" = 'failed: tests/b 2 the second
failed: tests/b exited with status 1
1 passed, 2 failed' ]
}

# fake_phasectl [CLUSTER]: makes a phasectl that logs its words. A daemon of this cluster answers;
# without CLUSTER, no daemon answers.
fake_phasectl() {
    mkdir -p "$DIR/build/bin"
    cat >"$DIR/build/bin/phasectl" <<SH
#!/bin/sh
echo "\$*\${PHASED_HOST:+ on \$PHASED_HOST}" >>$DIR/words
case \$* in
'daemon status'*) [ $# = 1 ] || exit 1 ;;
'submit '*) echo 'workflow 7 trm' ;;
'status --json') printf '%s\\n' '[' '  {' '    "workflow": 3,' '    "state": "held"' '  }' ']' ;;
esac
case \$* in
'daemon status') echo 'Slurm has not answered yet' ;;
'daemon status --json') printf '%s\\n' '{' '  "user": "anna",' '  "cluster": {' '    "name": "${1-}",' \\
    '    "answering": false,' '    "message": ""' '  }' '}' ;;
esac
SH
    chmod 755 "$DIR/build/bin/phasectl"
}

@test "a demo uses the daemon of the sandbox or starts one, and shows the workflow that it submitted" {
    local cluster
    for cluster in none sandbox; do
        rm -f "$DIR/words"
        [ $cluster = none ] && fake_phasectl || fake_phasectl $cluster
        PHASED_HOST=login1 run "$DIR/quickstart" demo
        [ "$status" = 0 ]
        [[ $output == *'phasectl gate 7/validate '* ]]
        [ "$(grep -v status "$DIR/words")" = 'sandbox start --pretend
daemon start
submit etc/workflows/demo.yaml
watch 7' ]
    done
}

@test "a demo does not submit to the daemon of another cluster, or of one that is not known" {
    local cluster
    for cluster in h1 ''; do
        rm -f "$DIR/words"
        fake_phasectl "$cluster"
        run "$DIR/quickstart" demo
        [ "$status" = 1 ]
        [[ $output == *"a daemon for ${cluster:+the cluster }${cluster:-a Slurm that has not answered} runs in "*"PHASED_HOME=~/.phased-demo"* ]]
        [ "$(cat "$DIR/words")" = 'daemon status --json' ]
    done
}

@test "stop stops the daemon of the sandbox, and leaves any other daemon alone" {
    fake_phasectl sandbox
    PHASED_HOST=login1 "$DIR/quickstart" stop
    [ "$(grep -v status "$DIR/words")" = $'daemon stop\nsandbox stop' ]
    local cluster
    for cluster in h1 ''; do
        rm "$DIR/words"
        fake_phasectl "$cluster"
        run "$DIR/quickstart" stop
        [ "$status" = 0 ]
        [[ $output == *" is for ${cluster:+the cluster }${cluster:-a Slurm that has not answered}: it goes on,"* ]]
        [ "$(grep -v status "$DIR/words")" = 'sandbox stop' ]
    done
    rm "$DIR/words"
    fake_phasectl
    "$DIR/quickstart" stop
    [ "$(grep -v status "$DIR/words")" = $'daemon stop\nsandbox stop' ] # and says why none answers
}

@test "a sandbox with the GPUs of this machine is left alone, with its daemon, also if it is stopped" {
    local cluster words
    mkdir -p "$DIR/home/sandbox"
    echo real >"$DIR/home/sandbox/kind"
    for cluster in none sandbox; do
        [ $cluster = none ] && fake_phasectl || fake_phasectl $cluster
        rm -f "$DIR/words"
        PHASED_HOME=$DIR/home run "$DIR/quickstart" demo
        [ "$status" = 1 ]
        [[ $output == *"the sandbox in $DIR/home has the GPUs of this machine; "*"PHASED_HOME=~/.phased-demo ./quickstart demo"* ]]
        PHASED_HOME=$DIR/home run "$DIR/quickstart" stop
        [ "$status" = 0 ]
        [[ $output == *"the sandbox in $DIR/home has the GPUs of this machine, "*" leaves the sandbox and the daemon alone "*"'phasectl daemon stop'"* ]]
        [ -z "$(grep -v "daemon status" "$DIR/words")" ]
    done
    echo pretend >"$DIR/home/sandbox/kind"
    PHASED_HOME=$DIR/home "$DIR/quickstart" stop
    [ "$(grep -v status "$DIR/words")" = $'daemon stop\nsandbox stop' ]
}

@test "a demo is refused where another machine has started the sandbox of the home" {
    fake_phasectl
    mkdir -p "$DIR/home/sandbox"
    echo elsewhere >"$DIR/home/sandbox/host"
    PHASED_HOME=$DIR/home run "$DIR/quickstart" demo
    [ "$status" = 1 ]
    [[ $output == *"elsewhere has started the sandbox in $DIR/home; "*"PHASED_HOME=~/.phased-demo ./quickstart demo"* ]]
    [ "$(cat "$DIR/words")" = 'daemon status --json' ]
    uname -n >"$DIR/home/sandbox/host"
    PHASED_HOME=$DIR/home "$DIR/quickstart" demo
}

@test "package removes the packages before, keeps a tarball, and says how to install one version again" {
    fake_packages none none
    printf '#!/bin/sh\ntouch ../new.deb\n' >"$DIR/bin/dpkg-buildpackage"
    chmod 755 "$DIR/bin/dpkg-buildpackage"
    printf 'distdir: ; @mkdir $(distdir)\n' >>"$DIR/build/Makefile"
    touch "$DIR/build/config.log"
    mkdir -p "$DIR/build/package/phased"
    touch "$DIR/build/package/phased-1-x86_64.tar.gz" "$DIR/build/package/old.deb" "$DIR/build/package/phased/file"
    PATH=$DIR/bin:$PATH run "$DIR/quickstart" package
    [ "$status" = 0 ]
    [[ $output == *'sudo apt install --reinstall ./build/package/*.deb'* ]]
    [ "$(ls "$DIR/build/package")" = $'new.deb\nphased-1-x86_64.tar.gz' ]
}

@test "where packages are not Debian's, a clone that cannot be configured is refused by name" {
    local program
    mkdir "$DIR/bin"
    for program in bash dirname nproc mkdir; do ln -s "$(command -v $program)" "$DIR/bin/"; done
    printf '#!/bin/sh\n' >"$DIR/bin/slurmctld"
    chmod 755 "$DIR/bin/slurmctld"
    rm "$DIR/configure"
    PATH=$DIR/bin run bash "$DIR/quickstart" build
    [ "$status" = 1 ]
    [[ $output == *"this is not Debian; install what these packages hold"* ]]
}

@test "the folder of another user is refused by name, before anything is written" {
    [ "$(id -u)" = 0 ] || skip "only root can become another user"
    local verb other=(setpriv --reuid=65534 --regid=65534 --clear-groups)
    chmod 755 "$DIR"
    mkdir "$DIR/build/bin"
    for verb in demo check build package tarball bench; do
        run "${other[@]}" "$DIR/quickstart" $verb
        [ "$status" = 1 ]
        [ "$output" = "quickstart: $DIR/build belongs to $(id -un): make a clone of your own" ]
    done
    touch "$DIR/build/bin/phasectl"
    chmod 755 "$DIR/build/bin/phasectl"
    chmod 777 "$DIR/build"
    touch "$DIR/build/quickstart.log" # a group may write to the folder, but not to its files
    run "${other[@]}" "$DIR/quickstart" build
    [ "$status" = 1 ]
    [ "$output" = "quickstart: $DIR/build/quickstart.log belongs to $(id -un): use its programs in build/bin, or make a clone of your own" ]
    chown 65534 "$DIR"
    run "${other[@]}" "$DIR/quickstart" build # as after 'sudo ./quickstart' in the clone of a user
    [ "$status" = 1 ]
    [ "$output" = "quickstart: $DIR/build/quickstart.log belongs to $(id -un): remove it, with 'sudo rm -r' if need be" ]
    [ ! -e "$DIR/made" ]
}

@test "a second check in the same folder is refused" {
    exec 8>>"$DIR/build/.check"
    flock 8
    run "$DIR/quickstart" check
    [ "$status" = 1 ]
    [[ $output == *"another check is at work in this folder"* ]]
}
