# phase-model tokenize as a program: vocabularies, shards, wrong files and options.

bats_require_minimum_version 1.5.0

setup() {
    BIN=${BIN:-$BATS_TEST_DIRNAME/../../build/bin}
    DIR=$(mktemp -d /tmp/phased-test-XXXXXX)
    cd "$DIR"
    head -c 20000 /usr/share/common-licenses/GPL-3 >text
    printf '\xff\xfe\x00 r\xc3\xa9sum\xc3\xa9\n' >bytes
}
teardown() { rm -rf "$DIR"; }

tokenize() { "$BIN/phase-model" tokenize "$@"; }

@test "a vocabulary and a shard are made from texts, the same bytes each time" {
    run -0 tokenize --train 500 text bytes --vocabulary v
    [ "$output" = 'a vocabulary of 500 tokens from 20013 bytes: v' ]
    run -0 tokenize --vocabulary v text bytes --out s
    [[ $output =~ ^[0-9]+' tokens from 20013 bytes: s'$ ]]
    tokenize bytes text --train=500 --out s2 --vocabulary v2
    cmp v v2
    run -1 cmp s s2
    tokenize text bytes --vocabulary v2 --out s2
    cmp s s2
    [ "$(stat -c %s v)" = $((48 + 8 * 244)) ]
    [ "$(stat -c %s s)" -lt 20000 ] # two bytes for an id, but less than half as many ids
    [ "$(ls)" = $'bytes\ns\ns2\ntext\nv\nv2' ]
}

@test "the text of 256 tokens is its bytes" {
    tokenize bytes --train 256 --vocabulary v --out s
    [ "$(tail -c +97 s | od -An -v -tu2 | xargs)" = "$(od -An -v -tu1 bytes | xargs)" ]
}

refused() {
    local status=$1 reason=$2
    shift 2
    run "-$status" tokenize "$@"
    [[ ${lines[0]} == "phase-model: "*"$reason"* ]]
    [ ! -e out ]
}

@test "impossible options and inputs are refused with a reason, and no file is left" {
    tokenize --train 300 text --vocabulary v
    refused 2 'a text is missing' --vocabulary v --out out
    refused 2 '--vocabulary is missing' text --out out
    refused 2 '--train or --out is missing' text --vocabulary v
    refused 2 '--tarin: no such option; did you mean --train?' text --vocabulary v --tarin 300
    refused 2 '--TEXT: no such option' --TEXT text --vocabulary v
    refused 1 '--train 255: not from 256' --train 255 text --vocabulary out
    refused 1 'cannot make 300 tokens: the text gives only 257' --train 300 bytes --vocabulary out
    refused 1 'cannot open nothing' text nothing --vocabulary v --out out
    refused 1 'it is a folder' . --vocabulary v --out out
    refused 1 'cannot read text: not a vocabulary' text --vocabulary text --out out
    head -c 300 v >cut
    refused 1 'cannot read cut: 300 bytes instead of 400' text --vocabulary cut --out out
    refused 1 '/nowhere/out' text --vocabulary v --out /nowhere/out
    [ "$(ls)" = $'bytes\ncut\ntext\nv' ]
}

@test "--help names every option" {
    run -0 tokenize --help
    [ "$(grep -c '^  --' <<<"$output")" = 3 ]
    [[ $output == *'  TEXT... '* ]]
}
