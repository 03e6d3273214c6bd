#!/usr/bin/env bats
# The build: what configure and make do in a folder of their own, with other flags, tools and another
# Slurm. Only few things are made there.

bats_require_minimum_version 1.5.0
load phased

setup_file() {
    export MAKEFLAGS=
    if [ -x "$SRC/configure" ] && [ ! -e "$SRC/config.status" ]; then
        mkdir "$BATS_FILE_TMPDIR/first"
        cd "$BATS_FILE_TMPDIR/first"
        configure -C --no-create
    fi
}

setup() {
    [ -e "$BATS_FILE_TMPDIR/first/config.cache" ] || skip "configure cannot run outside of its sources"
    cd "$BATS_TEST_TMPDIR"
    # What depends on what the tests change is found anew.
    grep -vE 'ac_cv_env_|NVCC' "$BATS_FILE_TMPDIR/first/config.cache" >config.cache
}

configure() {
    run "$SRC/configure" "$@"
    echo "$output"
    [ "$status" = 0 ]
}

# program FILE LINE: makes a shell script of one line.
program() {
    mkdir -p "${1%/*}"
    printf '#!/bin/sh\n%s\n' "$2" >"$1"
    chmod 755 "$1"
}

@test "configure leaves foreign objects alone, and deletes its own if flags or folders have changed" {
    mkdir -p other lib
    touch other/data.o lib/theirs.o
    configure -C
    [ -e other/data.o ]
    [ -e lib/theirs.o ]
    configure -C --libdir=/elsewhere
    [ ! -e lib/theirs.o ] # now a build lies in the folder
    touch lib/ours.o
    configure -C --libdir=/elsewhere
    [ -e lib/ours.o ]
    sed -i '/ac_cv_env_/d' config.cache
    configure -C --libdir=/elsewhere CFLAGS="-O1 -DLETTER='a'"
    [ ! -e lib/ours.o ]
    [ -e other/data.o ]
}

@test "an nvcc that refuses to compile is not used, and is named if CUDA is demanded" {
    program cuda/bin/nvcc 'echo "unsupported GNU version" >&2; exit 1'
    local folder real
    real=$(readlink -f "$(PATH=$PATH:/usr/local/cuda/bin command -v nvcc || true)")
    for folder in include lib64; do
        [ -z "$real" ] || ln -s "${real%/bin/nvcc}/$folder" cuda/
    done
    configure -C NVCC="$PWD/cuda/bin/nvcc"
    [[ $output == *"$PWD/cuda/bin/nvcc does not compile here"*"no GPU programs are built"* ]]
    grep -q 'unsupported GNU version' config.log
    grep -qx "HAVE_CUDA_FALSE=''" config.log
    run -1 "$SRC/configure" --with-cuda="$PWD/cuda"
    [[ $output == *"--with-cuda: $PWD/cuda/bin/nvcc does not compile here"* ]]
}

@test "a folder of CUDA that has no nvcc is named as such" {
    run -1 "$SRC/configure" -C --with-cuda="$PWD/cdua"
    [[ $output == *"--with-cuda: there is no program $PWD/cdua/bin/nvcc"* ]]
}

# other_slurm: makes a Slurm in slurm/ from the one of the build, whose release is another, 21.08.
other_slurm() {
    local makefile=$BIN/../Makefile prefix library release header
    release=$(sed -n 's/^SLURM_MAJOR = //p' "$makefile")
    [ -n "$release" ] || skip "phased was built without Slurm"
    prefix=$(sed -n 's/^SLURM_PREFIX = //p' "$makefile")
    library=$(sed -n 's/^SLURM_LIBS = .* //p; s/^SLURM_LIBS = //p' "$makefile" | tail -n 1)
    header=$(echo '#include <slurm/slurm.h>' | cc -isystem "$prefix/include" -E - | grep -om1 '/.*/slurm\.h')
    program slurm/bin/scontrol 'exit 1'
    mkdir slurm/include slurm/lib
    cp -r "${header%/*}" slurm/include/
    sed -i 's/\(SLURM_VERSION_NUMBER\) 0x.*/\1 0x150800/' slurm/include/slurm/slurm_version.h
    sed "s/$release\.\([0-9]\)/21.08.\1/g" "$library" >slurm/lib/libslurm.so
}

@test "the module is for the Slurm whose scontrol is in PATH, whichever headers the compiler finds" {
    local name
    other_slurm
    PATH=$PWD/slurm/bin:$PATH configure -C
    grep -qx 'SLURM_MAJOR = 21.08' Makefile
    # The folder stays that of configure.
    run -0 make lib/phased/phased-slurm-21.08.so
    readelf -dW lib/phased/phased-slurm-21.08.so | grep -F "[$PWD/slurm/lib]"
    grep -q '"21\.08\.' daemon/slurm/features.h
    # So do the tests that know libslurm.
    for name in test_slurm test_surveyor; do
        run -0 make -n tests/unit/$name
        grep "/$name\.c" <<<"$output" | grep -F -e "-isystem $PWD/slurm/include"
    done
}

@test "where the Slurm in PATH has no headers, phased is built without a module" {
    other_slurm
    rm -r slurm/include
    PATH=$PWD/slurm/bin:$PATH configure -C
    [[ $output == *"no module is built ("*" is of Slurm 21.08."* ]]
    grep -q "^HAVE_SLURM_FALSE=''" config.log
    run -0 make -n all
    [[ $output != *"build-slurm module"* && $output != *phased-slurm-* ]]
}

@test "what could be made only in part is made again" {
    configure -C
    run -0 make lib/phased/daemon-job
    rm lib/phased/daemon-job
    # As on a full disk, cp fails. make itself cleans up after what a signal has ended.
    run ! bash -c 'trap "" XFSZ && ulimit -f 1 && make lib/phased/daemon-job'
    run -0 make lib/phased/daemon-job
    cmp "$SRC/cli/daemon-job" lib/phased/daemon-job
}

@test "kernels of CUDA are made again after a change of any header that they include" {
    local makefile=$BIN/../Makefile folder
    [ -e "$BIN/phase-model-gpu" ] || skip "phased was built without CUDA"
    folder=$(sed -n 's/^top_srcdir = //p' "$makefile")
    run -0 make -n -C "$BIN/.." worker/model/cuda/rows.o
    [[ $output != *nvcc* ]]
    run -0 make -n -C "$BIN/.." -W "$folder/lib/error.h" worker/model/cuda/rows.o
    [[ $output == *nvcc* ]]
}

@test "a page that was made without curves is made again after configure has found dygraphs" {
    configure -C --without-dygraphs
    run -0 make web/files.c
    run -1 grep -q '"dygraph\.js"' web/files.c
    mkdir dygraphs
    touch -d '2020-01-01' dygraphs/dygraph.min.{js,css} # as packages have them
    configure -C --with-dygraphs=dygraphs
    run -0 make web/files.c
    grep -q '"dygraph\.js"' web/files.c
}

@test "the unit of systemd names the programs of the prefix with which make installs" {
    configure -C
    run -0 make etc/systemd/phased.service
    run -0 make prefix="$PWD/new" etc/systemd/phased.service
    grep -qx "ExecStart=$PWD/new/bin/phased" etc/systemd/phased.service
    touch -d '2020-01-01' etc/systemd/phased.service
    run -0 make prefix="$PWD/new" etc/systemd/phased.service
    [ "$(date -r etc/systemd/phased.service +%Y)" = 2020 ] # it says the same
    run -0 make etc/systemd/phased.service
    grep -qx "ExecStart=$(make -s print-bindir)/phased" etc/systemd/phased.service
}

@test "a page whose dygraphs was removed after the build is made again only with dygraphs" {
    mkdir dygraphs
    touch dygraphs/dygraph.min.{js,css}
    configure -C --with-dygraphs=dygraphs
    run -0 make web/files.c
    rm -r dygraphs
    run -0 make web/files.c # nothing has changed
    run -2 make -W "$SRC/web/app.js" web/files.c
    [[ $output == *"cannot read $PWD/dygraphs/dygraph.min.js"* ]]
}

@test "packages are made with the module of a Slurm that belongs to no package" {
    local module=debian/phased/usr/lib/any/phased/phased-slurm-99.so
    command -v dpkg-shlibdeps >/dev/null || skip "dpkg-dev is not installed"
    mkdir -p "${module%/*}" slurm/lib
    cp "$SRC/debian/control" debian/
    echo 'int slurm_init(void) { return 0; }' >slurm.c
    cc -shared -fPIC -Wl,-soname,libslurm.so.99 -o slurm/lib/libslurm.so.99 slurm.c
    echo 'int slurm_init(void); int begin(void) { return slurm_init(); }' >module.c
    cc -shared -fPIC -Wl,-rpath,"$PWD/slurm/lib" -o $module module.c slurm/lib/libslurm.so.99
    # As the one of debhelper, for these packages.
    program bin/dh_shlibdeps "case \$* in '-pphased '*) shift 3; exec dpkg-shlibdeps -Tsubstvars $BIN/phasectl \"\$@\" ;; esac"
    PATH=$PWD/bin:$PATH run make -f "$SRC/debian/rules" override_dh_shlibdeps
    echo "$output"
    [ "$status" = 0 ]
    grep -q '^shlibs:Depends=.*libjansson4' substvars
    run ! grep slurm substvars
}
