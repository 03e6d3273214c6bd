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

@test "a signal ends tokenize, and leaves no part of a shard" {
    tokenize --train 300 text --vocabulary v
    truncate -s 4G large
    "$BIN/phase-model" tokenize --vocabulary v large --out s 2>said 3>&- &
    until compgen -G 's.new*' >/dev/null; do kill -0 $!; done
    kill -TERM $!
    local code=0
    wait $! || code=$?
    [ "$code" = 1 ]
    [ "$(cat said)" = 'phase-model: stopped: no shard was made' ]
    [ "$(ls)" = $'bytes\nlarge\nsaid\ntext\nv' ]
}

refused() {
    local status=$1 reason=$2
    shift 2
    run "-$status" tokenize "$@"
    [[ ${lines[0]} == phase-model*": "*"$reason"* ]]
    [ ! -e out ]
}

@test "impossible options and inputs are refused with a reason, and no file is left" {
    tokenize --train 300 text --vocabulary v
    refused 2 'a text is missing' --vocabulary v --out out
    refused 2 '--vocabulary is missing' text --out out
    refused 2 '--train or --out is missing' text --vocabulary v
    refused 2 "unknown option '--tarin'; did you mean --train?" text --vocabulary v --tarin 300
    refused 2 '--train wants a whole number from 256 to 1048576' --train 255 text --vocabulary out
    refused 1 'cannot make 300 tokens: the text gives only 257' --train 300 bytes --vocabulary out
    refused 1 'cannot open nothing' text nothing --vocabulary v --out out
    refused 1 'it is a folder' . --vocabulary v --out out
    refused 1 'cannot read text: not a vocabulary' text --vocabulary text --out out
    head -c 300 v >cut
    refused 1 'cannot read cut: 300 bytes instead of 400' text --vocabulary cut --out out
    refused 1 '/nowhere/out' text --vocabulary v --out /nowhere/out
    [ "$(ls)" = $'bytes\ncut\ntext\nv' ]
}

@test "no output replaces a text or the vocabulary" {
    tokenize --train 300 text --vocabulary v
    ln -s text link
    sha256sum bytes text v >sums
    refused 2 '--out text is one of the texts, and would replace it' bytes text --vocabulary v --out text
    refused 2 '--out link is one of the texts' bytes text --vocabulary v --out link
    refused 2 '--out ./v is the vocabulary, and would replace it' text --vocabulary v --out ./v
    refused 2 '--out out is the vocabulary' text --vocabulary out --out out --train 300
    refused 1 '--out ./new is the vocabulary' text --vocabulary new --out ./new --train 300
    head -c 4 new | cmp - <(head -c 4 v) # the vocabulary was made
    refused 2 '--vocabulary text is one of the texts' text --vocabulary text --train 300
    sha256sum --check --quiet sums
}

# train DATA OUT ITERATIONS [OPTION...]
train() {
    local data=$1 out=$2 iterations=$3
    shift 3
    "$BIN/phase-model" train --data "$data" --out "$out" --iterations "$iterations" --width 32 \
        --device-batch-size 4 --sequence-length 32 --eval-every 0 "$@"
}

@test "a model is trained on tokens, resumed to the same bytes, and writes text" {
    tokenize --train 400 text --vocabulary v --out s
    run -1 train s out 6 --tokens 399
    [[ $output == *'cannot train on s: its vocabulary has 400 tokens; --tokens is 399' ]]
    train s whole 6
    train s part 3
    run -0 train s part 6 --tokens 400 --resume part/step_000003.ckpt
    [[ $output == *'resumed at step 3 '* ]]
    diff -r whole/step_000006.ckpt part/step_000006.ckpt
    printf 'the \n\n\xff\xfe' >prompts
    generate() {
        "$BIN/phase-model" generate --model whole/step_000006.ckpt --input prompts --bytes 20 "$@"
    }
    generate --vocabulary v --output out
    generate --vocabulary v --output out2 --batch-size 2 --tp 2
    cmp out out2
    [ "$(gojq -c .line out | xargs)" = '0 1 2' ]
    [ "$(gojq -s 'map(.text | utf8bytelength) | add > 3' out)" = true ]
    run -1 generate --output out3
    [[ $output == *'--vocabulary is missing: whole/step_000006.ckpt is not a model of bytes' ]]
    tokenize --train 400 /usr/share/common-licenses/GPL-2 --vocabulary other
    run -1 generate --output out3 --vocabulary other
    [[ $output == *'--vocabulary other: whole/step_000006.ckpt was trained with another vocabulary' ]]
    "$BIN/phase-model" train --out of_bytes --iterations 1 --width 32 --sequence-length 32 --eval-every 0
    run -1 generate --model of_bytes/step_000001.ckpt --output out3 --vocabulary v
    [[ $output == *'--vocabulary v: of_bytes/step_000001.ckpt is a model of bytes: leave the option out' ]]
    [ ! -e out3 ]
}

@test "the tokens of a model are rounded up to 8, and the tokens beyond the vocabulary are not drawn" {
    tokenize --train 403 text --vocabulary v --out s
    run -0 train s out 3 --depth 1 --loops 1
    # Twice 408 x 32 tokens, three norms of 32, and a block of 4 x 32 x 32 + 3 x 32 x 128.
    [[ ${lines[0]} == 'training 42592 parameters '* ]]
    train s again 3 --depth 1 --loops 1 --tokens 406 --resume out/step_000003.ckpt
    yes the | head -n 100 >prompts
    "$BIN/phase-model" generate --model out/step_000003.ckpt --vocabulary v --input prompts \
        --output lines --bytes 60 --temperature 100
    [ "$(wc -l <lines)" = 100 ]
}

@test "a checkpoint is not resumed with tokens of another vocabulary, and no damaged shard is read" {
    tokenize --train 400 text --vocabulary v --out s
    train s out 2
    tokenize --train 401 text --vocabulary other
    tokenize text --vocabulary other --out s2
    run -1 train s2 out 4 --resume out/step_000002.ckpt
    [[ $output == *'cannot resume from out/step_000002.ckpt: it has tokens=400, not 408' ]]
    tokenize --train 400 /usr/share/common-licenses/GPL-2 --vocabulary other
    tokenize text --vocabulary other --out s2
    for data in s2 text; do
        run -1 train $data out 4 --tokens 400 --resume out/step_000002.ckpt
        [[ $output == *"cannot resume from out/step_000002.ckpt: it has another vocabulary than $data" ]]
    done
    head -c 2000 s >cut
    run -1 train cut out 4
    [[ $output == *'cannot read cut: 1904 bytes for '*' ids of 2 bytes' ]]
    { head -c 2000 s; printf x; tail -c +2002 s; } >altered
    run -1 train altered out 4
    [[ $output == *'cannot read altered: its checksum is wrong' ]]
}

@test "a shard of bytes trains the same weights as its text" {
    tokenize text --train 256 --vocabulary v --out s
    train text one 3
    train s other 3
    cmp one/step_000003.ckpt/rank_0 other/step_000003.ckpt/rank_0
    printf 'the\n' >prompts
    "$BIN/phase-model" generate --model one/step_000003.ckpt --input prompts --output out --bytes 9
    "$BIN/phase-model" generate --model other/step_000003.ckpt --input prompts --output out2 \
        --bytes 9 --vocabulary v
    cmp out out2
}

@test "--help names every option" {
    run -0 tokenize --help
    [ "$(grep -c '^      --' <<<"$output")" = 3 ]
    [[ $output == *' TEXT... '* ]]
}
