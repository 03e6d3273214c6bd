#!/usr/bin/env bats
# The tarball: its tree works from any folder, with the libraries that it brings. etc/tarball/pack makes
# it. The folder has a space in its name, and the tree is moved after it was unpacked.

bats_require_minimum_version 1.5.0
load phased

setup_file() {
    command -v patchelf >/dev/null || return 0
    ROOT=$(mktemp -d /tmp/phased-test-XXXXXX)
    export ROOT TREE="$ROOT/moved here/phased" MAKEFLAGS=
    "$SRC/etc/tarball/pack" "$BIN/.." "$ROOT" >"$ROOT/log" 2>&1 || { tail "$ROOT/log" >&2; false; }
    mkdir "$ROOT/a folder" "$ROOT/moved here"
    tar -xzf "$ROOT"/phased-*.tar.gz -C "$ROOT/a folder"
    mv "$ROOT/a folder"/phased-* "$TREE"
}

teardown_file() {
    is_of_test "${ROOT:-}" || return 0
    rm -rf "$ROOT"
}

setup() {
    is_of_test "${ROOT:-}" || skip "patchelf is not installed"
    home_up
    PATH=$TREE/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin
    unset SLURM_CONF
}

teardown() {
    is_of_test "${PHASED_HOME:-}" || return 0
    [ ! -e "$PHASED_HOME/sandbox/slurm.conf" ] || export SLURM_CONF=$PHASED_HOME/sandbox/slurm.conf
    phasectl daemon stop >/dev/null 2>&1 || true
    phasectl sandbox stop >/dev/null 2>&1 || true
    home_down
}

# Prints what ld.so takes from outside of the tree for these files.
from_outside() {
    for file; do ldd "$file"; done | awk -v tree="$TREE/" '!index($0, tree) && $1 !~ /^linux-vdso/ { print $1 }' |
        sed 's|.*/||' | sort -u
}

@test "only glibc and libslurm come from outside, and nothing names the folder of the build" {
    local glibc=' libc.so.6 libm.so.6 libresolv.so.2 libdl.so.2 libpthread.so.0 librt.so.1 ' library program
    for program in "$TREE"/bin/*; do
        [[ $program != */phase-*-gpu ]] || continue # the site has CUDA
        readelf -dW "$program" | grep -qF 'Library rpath: [$ORIGIN/../lib'
        for library in $(from_outside "$program"); do
            [[ $glibc == *" $library "* || $library == ld-linux* ]] || { echo "$program needs $library"; false; }
        done
    done
    # The programs for GPUs find the libraries of phased in the tree, and those of CUDA at the site.
    for program in "$TREE"/bin/phase-*-gpu; do
        [ -e "$program" ] || continue
        for library in $(readelf -dW "$program" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
            [ ! -e "$TREE/lib/$library" ] || ldd "$program" | grep -qF "$library => $TREE/"
        done
        readelf -dW "$program" | grep -E 'Library runpath: \[/.*:\$ORIGIN/\.\./lib\]'
    done
    for library in $(from_outside "$TREE"/lib/phased/*.so); do
        [[ $glibc == *" $library "* || $library == ld-linux* || $library == libslurm.so.* ]]
    done
    # What the site's libslurm loads must not find the libraries of libcurl here.
    [[ $(ldd "$TREE/bin/phased") != */clients/* ]]
    [ -e "$TREE/lib/clients/libcurl.so.4" ]
    run -1 grep -rlF -e "$(realpath "$BIN/..")" -e "$ROOT" "$TREE"
}

@test "libraries that LD_LIBRARY_PATH names do not disturb the programs" {
    mkdir "$PHASED_HOME/other"
    for library in "$TREE"/lib/*.so.* "$TREE"/lib/clients/*.so.*; do
        echo "no library" >"$PHASED_HOME/other/${library##*/}"
    done
    LD_LIBRARY_PATH=$PHASED_HOME/other run -0 phasectl --version
    LD_LIBRARY_PATH=$PHASED_HOME/other run -0 phased --version
}

@test "the programs train a workflow and serve the page, with nothing but PATH" {
    command -v slurmctld slurmd munged >/dev/null || skip "Slurm's daemons are not installed"
    cd /
    phasectl sandbox start --pretend >/dev/null
    phasectl daemon start >/dev/null
    two_phases >"$PHASED_HOME/two.yaml"
    run -0 env -i PATH="$PATH" PHASED_HOME="$PHASED_HOME" phasectl submit "$PHASED_HOME/two.yaml" --watch
    [[ $output == *"workflow 1 (two) succeeded after "* ]]
    # What ran is from the tree: the daemon, its module, and the worker that it gave to Slurm.
    [ "$(readlink "/proc/$(daemon_pid)/exe")" = "$TREE/bin/phased" ]
    grep -qF "$TREE/lib/phased/phased-slurm-" "/proc/$(daemon_pid)/maps"
    grep -rqF "$TREE/bin/phase-worker" "$PHASED_HOME/runs"
    run -1 grep -rlF "$SRC/" "$PHASED_HOME/runs"
    local url
    url=$(phasectl open --json | gojq -r .url)
    curl -sf "${url%#*}" | grep -q '<title>'
    curl -sf -H "Authorization: Bearer ${url#*#}" "${url%/#*}/v1/workflows" | gojq -e '.workflows[0].name == "two"'
    # Nothing was written into the tree.
    [ "$(find "$TREE" | wc -l)" = "$(tar -tzf "$ROOT"/phased-*.tar.gz | wc -l)" ]
}

@test "without a module for the Slurm of the machine, the daemon says how to build one, and the tree builds it" {
    compgen -G "$TREE/lib/phased/phased-slurm-*.so" >/dev/null || skip "there are no headers of Slurm"
    mkdir "$PHASED_HOME/away"
    mv "$TREE"/lib/phased/phased-slurm-*.so "$PHASED_HOME/away"
    run phasectl daemon start
    local said=$output build_status
    run phasectl daemon build-slurm
    build_status=$status
    mv "$PHASED_HOME"/away/*.so "$TREE/lib/phased"
    [[ $said == *"phased has no module for "*": build one with \`phasectl daemon build-slurm\`"* ]]
    [ "$build_status" = 0 ]
    [ -e "$(echo "$PHASED_HOME"/slurm/phased-slurm-*.so)" ]
}

# in_lmod COMMAND: runs it in a shell with Lmod and the modules of the tree.
in_lmod() {
    run env -i HOME="$PHASED_HOME" PATH=/usr/bin:/bin TREE="$TREE" bash -c \
        '. /usr/share/lmod/lmod/init/bash && module use "$TREE/share/modulefiles" && eval "$1"' bash "$1"
}

@test "the module of Lmod sets the paths, and unloading leaves nothing" {
    [ -e /usr/share/lmod/lmod/init/bash ] || skip "Lmod is not installed"
    in_lmod 'module load phased && command -v phasectl && python3 -Bc "import phased; print(phased.__file__)" &&
        echo "$MANPATH" && module unload phased && ! command -v phasectl && echo "${MANPATH-no}${PYTHONPATH-no}"'
    [ "$status" = 0 ]
    [ "${lines[0]}" = "$TREE/bin/phasectl" ]
    [ "${lines[1]}" = "$TREE/share/phased/python/phased.py" ]
    [[ ${lines[2]} == "$TREE/share/man:"* ]] # an empty part is the machine's own manual
    [ -s "$TREE/share/man/man1/phasectl.1" ]
    [ "${lines[3]}" = nono ]
}

@test "on a glibc that is too old, the module of Lmod says what phased needs" {
    [ -e /usr/share/lmod/lmod/init/bash ] || skip "Lmod is not installed"
    local needs
    needs=$(sed -n 's/.*needs glibc \([0-9.]*\) or later.*/\1/p' "$TREE/README")
    [ "$(printf '%s\n' "$needs" "$(getconf GNU_LIBC_VERSION | cut -d' ' -f2)" | sort -V | head -n 1)" = "$needs" ]
    sed -i "s/$needs/9.99/" "$TREE"/share/modulefiles/phased/*.lua
    in_lmod 'module load phased'
    sed -i "s/9\.99/$needs/" "$TREE"/share/modulefiles/phased/*.lua
    [ "$status" != 0 ]
    [[ ${output//$'\n'/ } == *"needs glibc 9.99 or later, and this machine has glibc"* ]]
}
