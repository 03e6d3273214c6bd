#!/bin/bash
# Words and phrases that this project has given up, because a reader has to decipher them, each with
# its replacement. Prints TAP.
set -u
cd "${SRC:-.}" || exit 1
git ls-files --error-unmatch configure.ac >/dev/null 2>&1 || { echo "1..0 # SKIP the rules are for what git knows"; exit 0; }

FOLDERS=(.ci README.md cli daemon doc etc lib python quickstart schema tests/bench tests/distributions
    tests/fake tests/fuzz tests/sim tests/specs tests/storm tests/system tests/unit tests/upgrade web worker)

# WORD -> REPLACEMENT. A word is an extended regular expression. Case does not count, and _ ends a
# word.
WORDS='
dut(y|ies) -> pending effect
cures? -> remedy
tellers? -> notifier
vigils? -> watchdog
testimon(y|ies) -> evidence
witness(es)? -> evidence
hasten(s|ed)? -> promote, start earlier
vain -> superseded, or say what failed
unheard -> silent
month_judge -> month_check
struct node [^ ]+ -> struct yaml_node, struct expr_node
(slurm.s( own)?|srun) steps? -> job step
steps? of (the|a) schema|schema steps?|migration steps? -> migration
(an?|the|its) exit status(es)? -> exit code
(ends?|ended|exits?) (it )?(early )?with status -> exit code
none (is|are) -> name the noun, such as "no node is"
that one( (is|was|has|of)|[,.;:]) -> repeat the noun
not what it should be -> say what it must be, such as "must be a whole number"
there (is|are|was|were) none -> name the noun, such as "no node has it"
it (is|was) none -> it is not a ...
(has|have|had|takes?|gets?|wants?|needs?|finds?|found) none -> name the noun, such as "has no value"
[^ ]*([^r]e|[^ e*/#]) (is|are|was|were) no ([a-km-z]|l[a-np-z]|lo[a-mo-z])[a-z]* -> is not a ...
likewise -> repeat the noun
for ever -> forever
"not (an? (text|map|list|name|number|whole number)|one of|true or false|above 0) -> "must be ...
'

# breaches FILE...: the lines that use such a word.
breaches() {
    local row
    while read -r row; do
        [ -z "$row" ] || grep -HinE "(^|[^a-z])(${row%% -> *})([^a-z]|\$)" "$@" |
            cut -c1-140 | sed "s|\$|   instead: ${row##* -> }|"
    done <<<"$WORDS"
}

example=$(mktemp) || exit 1
trap 'rm -f "$example"' EXIT
printf '%s\n' '/* A duty is done in' ' * VAIN, and none is left:' ' * month_judge() uses that one. */' \
    '/* NULL: there is none. */' '/* 0: the word is no unit. It is no longer there. */' \
    'problem(node, "not a text"); /* It is not a text. */' \
    '/* One timer suffices, so that one option is enough. */' '/* vanity, dutiful */' >"$example"
if [ "$(breaches "$example" | cut -d: -f2 | sort -n | tr '\n' ' ')" = '1 2 2 3 3 4 5 6 ' ]; then
    echo 'ok 1 - words that were given up are found'
else
    echo 'not ok 1 - words that were given up are found'
    breaches "$example" | sed 's/^/# /'
fi

# A migration is never changed, so this one keeps the words that it was written with.
OLD=(':!schema/013_silent.sql')

mapfile -t files < <(git ls-files "${FOLDERS[@]}" "${OLD[@]}")
found=$(breaches "${files[@]}")
if [ -z "$found" ]; then
    echo "ok 2 - words that were given up are not used in ${FOLDERS[*]}"
else
    echo "not ok 2 - words that were given up are not used in ${FOLDERS[*]}"
    sed 's/^/# /' <<<"$found"
fi
echo 1..2
