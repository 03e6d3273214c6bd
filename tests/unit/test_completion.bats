# Completion for bash: which words it offers, and that no word of the host or of a file is obeyed.

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    export HOME=$BATS_TEST_TMPDIR PATH=$BATS_TEST_TMPDIR/bin:$PATH
    unset PHASED_HOST
    mkdir bin .ssh
    . "${SRC:-$BATS_TEST_DIRNAME/../..}/etc/completions/phasectl.bash"
}

# answers VERB: what phasectl prints for the verb; each line of standard input is a line of it.
answers() {
    cat >"$1"
    printf '#!/bin/sh\ncat "%s/$1"\n' "$BATS_TEST_TMPDIR" >bin/phasectl
    chmod +x bin/phasectl
}

# completes WORD...: the last word is completed to the words on standard input.
completes() {
    COMP_WORDS=(phasectl "$@") COMP_CWORD=$#
    _phasectl
    [ "$(printf '%s\n' "${COMPREPLY[@]}" | sort -u | xargs)" = "$(cat)" ] ||
        { printf '%s: %s\n' "$*" "${COMPREPLY[*]}"; false; }
}

hostile=('$(touch injected)' '`touch injected`' '${x:=$(touch injected)}' "'" '\\' '~' '*')

@test "no address is obeyed" {
    {
        printf '  "address": "%s",\n' "${hostile[@]}"
        printf '  "address": "7/ladder.3",\n  "address": "7/ladder.3#2"\n  "workflow": 7,\n'
    } | answers status
    completes why '' <<<'7 7/ladder.3'
    completes submit --after '' <<<7
    [ ! -e injected ]
}

@test "help offers the verbs" {
    printf 'usage: phasectl\n\n  submit    queue\n  why       explain\n' | answers --help
    completes help '' <<<'submit why'
    completes help w <<<why
}

@test "no node is obeyed" {
    {
        printf '  "node": "%s",\n' "${hostile[@]}"
        printf '  "node": "gpu-01.example"\n'
    } | answers nodes
    completes nodes '' <<<'add clear gpu-01.example'
    [ ! -e injected ]
}

@test "no host of ssh is obeyed" {
    printf 'Host %s\n' "${hostile[@]}" 'login1 *.example' >.ssh/config
    completes --host '' <<<login1
    [ ! -e injected ]
}
