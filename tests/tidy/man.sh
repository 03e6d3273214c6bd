#!/bin/bash
# The manual pages say what the programs know: every verb, option and key. Prints TAP.
set -u
man=$SRC/doc/man
explained=$(mktemp -d)
sed '/^\.\\" keys: begin/,/^\.\\" keys: end/d' "$man/phased-spec.5" >"$explained/phased-spec.5"

. "$SRC/tests/tidy/report.bash"

# Says what of the words on standard input the page does not have: lacks PAGE PATTERN, where %s is
# the word. No words at all is a breach too: then the test reads the wrong thing.
lacks() {
    local page=$1 pattern=$2 word words=0
    while read -r word; do
        words=$((words + 1))
        # shellcheck disable=SC2059
        grep -qE -- "$(printf "$pattern" "$word")" "$man/$page" || echo "$page lacks $word"
    done
    [ "$words" -gt 0 ] || echo "no words were found to look for in $page"
}

options_in() {
    grep -oE '^ +(-[a-z], )?--[a-z-]+' | grep -oE -- '--[a-z-]+' | grep -vx -- --help | sed 's/^--//'
}

verbs() {
    "$BIN/phasectl" --help | awk '/^  [a-z]+ / { print $1 }'
}

# What doc/preflight.md and etc/preflight.yaml tell otherwise of each other's models and figures.
thresholds() {
    awk '
        FNR == NR && /^\| figure \| NVIDIA/ {
            columns = split($0, model, / *\| */) - 2 # the last is the source
            next
        }
        FNR == NR && !/^\|/ { columns = 0 }
        FNR == NR {
            gsub(/`/, "")
            split($0, cell, / *\| */)
            for (i = 3; i <= columns; i++)
                if (cell[i] ~ /^[0-9]+$/)
                    page[model[i] ": " cell[2]] = cell[i]
            next
        }
        /^  - match: / { name = substr($0, 12) }
        /^    [a-z_]+: [0-9]+$/ { file[name ": " substr($1, 1, length($1) - 1)] = $2 }
        /^    allreduce_gbps: / {
            gsub(/[^0-9 ]/, "")
            for (i = 1; i < NF; i += 2)
                file[name ": allreduce_gbps " $i] = $(i + 1)
        }
        END {
            for (key in file) {
                found++
                if (page[key] != file[key])
                    print key " is " file[key] ", the page says " (page[key] ? page[key] : "nothing")
            }
            for (key in page)
                if (!(key in file))
                    print "there is no " key
            if (!found)
                print "no thresholds were found"
        }' "$SRC/doc/preflight.md" "$SRC/etc/preflight.yaml"
}

report 'doc/preflight.md has the thresholds of etc/preflight.yaml' "$(thresholds)"
report 'phasectl(1) has every verb' "$(verbs | lacks phasectl.1 '^\.It Cm %s( |$)')"
report 'phasectl(1) has every option' \
    "$(for verb in $(verbs); do "$BIN/phasectl" "$verb" --help; done | options_in | sort -u |
        lacks phasectl.1 'Fl (. , )?-%s( |$)')"
report 'phase-model(1) has every option' \
    "$(for command in tokenize train generate; do "$BIN/phase-model" "$command" --help; done |
        options_in | lacks phase-model.1 '^\.It Fl -%s ')"
report 'phase-preflight(1) has every option' \
    "$("$BIN/phase-preflight" --help | options_in | lacks phase-preflight.1 '^\.It Fl -%s( |$)')"
report 'phased(1) has every option' \
    "$("$BIN/phased" --help | options_in | lacks phased.1 '^\.It Fl -%s( |$)')"
report 'phase-worker(1) has every verb and option' \
    "$({
        "$BIN/phase-worker" --help | grep -oE 'phase-worker [a-z]+' | cut -d' ' -f2 |
            lacks phase-worker.1 '^\.It Cm %s( |$)'
        "$BIN/phase-worker" extract --help | options_in |
            lacks phase-worker.1 '^\.It Fl -%s( |$)'
    })"
# The members of a notice, and those that are also in a variable: lines `MEMBER` and `MEMBER NAME`.
notice_of_code() {
    local code=$SRC/daemon/notify/notify.c
    {
        sed -n '/^static void notifier_input/,/^}/p' "$code" | tr -d '\n' |
            grep -oE '"[a-z]+", +json_object_get' | cut -d'"' -f2
        paste -d' ' <(sed -n 's/.* keys\[\] = {\(.*\)};/\1/p' "$code" | grep -oE '[a-z]+') \
            <(sed -n 's/.* names\[\] = {\(.*\)};/\1/p' "$code" | grep -oE '[A-Z]+')
    } | sort
}
notice_of_page() {
    awk '/^\.It Cm variants$/ { exit }
         /^\.It Cm notify$/ { is_notice = 1 }
         is_notice && /^\.It Cm / { member = $3 }
         is_notice && /^\.It Cm [a-z]+$/ && member != "notify" { print member }
         is_notice && /^\.Ev PHASED_NOTICE_/ { sub(/^PHASED_NOTICE_/, "", $2); print member, $2 }' \
        "$explained/phased-spec.5" | sort
}
report 'phased-spec(5) has the members and variables of a notice' \
    "$(diff <(notice_of_code) <(notice_of_page))"
# The list of all keys is made from the table: the text before it has to explain each of them too.
report 'phased-spec(5) explains every key' \
    "$(grep -oE '^(WORKFLOW|PHASE)_KEY\("[a-z_]+"' "$SRC/lib/spec/keys.def" | cut -d'"' -f2 | sort -u |
        man=$explained lacks phased-spec.5 '^\.It Cm ([a-z_]+ , )*%s( |$)'
    grep -oE '^KEY\([A-Z]+, "[a-z_]+"' "$SRC/lib/spec/keys.def" | grep -v LIMITS | cut -d'"' -f2 | sort -u |
        man=$explained lacks phased-spec.5 '(^|[^a-z_])%s([^a-z_]|$)')"
if command -v groff >/dev/null; then
    report 'the pages are well formed' \
        "$(for page in "$man"/*; do groff -mandoc -Tutf8 -ww "$page" 2>&1 >/dev/null; done)"
else
    skip 'the pages are well formed' 'there is no groff'
fi
# The level `style` would forbid lines of more than 80 bytes.
if command -v mandoc >/dev/null; then
    report 'mandoc has no warning about a page' "$(mandoc -Tlint -W warning "$man"/*)"
else
    skip 'mandoc has no warning about a page' 'there is no mandoc'
fi

rm -r "$explained"
echo "1..$count"
