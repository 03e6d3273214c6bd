#!/bin/bash
# The house rules that a machine can hold: sizes, who may include which library, banned calls, a
# README in each folder, names in pages, what is distributed, headers that compile alone, a purpose at
# the top of each file. Prints TAP; names each breach.
set -u
cd "${SRC:-.}" || exit 1
git ls-files --error-unmatch configure.ac >/dev/null 2>&1 || { echo "1..0 # SKIP the rules are for what git knows"; exit 0; }
mapfile -t sources < <(git ls-files '*.c' '*.h' '*.cu' '*.cuh')

. tests/tidy/report.bash

report 'files have at most 600 lines' \
    "$({ git ls-files -z '*.bats' '*.bash' '*.py' '*.sh' '*.sql' && git grep -lzI '^#!/' -- ':(exclude,glob)**/*.*'; } |
        sort -zu | xargs -0 wc -l "${sources[@]}" |
        awk '$2 != "total" && $1 > 600 { print $2 ": " $1 " lines" }')"

report 'lines have at most 100 columns' \
    "$(awk 'length($0) > 100 { print FILENAME ":" FNR ": " length($0) " columns" }' "${sources[@]}")"

report 'lines of etc/failures.yaml have at most 100 columns, but for patterns' "$(awk '
    length > 100 && !/^ *(-|pattern:) ['\''"]/ { print FILENAME ":" FNR ": " length " columns" }
' etc/failures.yaml)"

report 'functions have at most 70 lines' "$(awk '
    FNR == 1 { begin = 0 }
    /^\{$/ { begin = FNR }
    /^\}/ && begin { if (FNR - begin > 71) print FILENAME ":" begin ": " FNR - begin - 1 " lines"; begin = 0 }
' "${sources[@]}")"

report 'each file begins with its purpose' \
    "$(for file in "${sources[@]}"; do
        IFS= read -rn 2 start <"$file" && [ "$start" = '/*' ] || echo "$file"
    done)"

# border HEADER-PATTERN FOLDER...: who else includes it?
border() {
    local pattern=$1 file
    shift
    grep -lE "^#include [<\"]$pattern" "${sources[@]}" | while read -r file; do
        local allowed=no folder
        for folder in "$@"; do
            [[ $file == "$folder"/* ]] && allowed=yes
        done
        [ $allowed = yes ] || echo "$file includes $pattern"
    done
}

report 'sqlite3.h is included in daemon/store, cli/reader and cli/metrics only' "$(border sqlite3 daemon/store cli/reader cli/metrics tests)"
report 'slurm headers are included in daemon/slurm only' "$(border slurm/ daemon/slurm tests)"
report 'microhttpd.h is included in daemon/api only' "$(border microhttpd daemon/api)"
report 'libfyaml.h is included in lib/spec only' "$(border libfyaml lib/spec)"
report 'libcurl is included in lib and worker only' "$(border curl lib worker)"
report 'libuv is included in daemon/loop, daemon/api, the main file and worker only' \
    "$(border uv daemon/loop daemon/api worker daemon/main.c tests | grep -v '^daemon/main.c ')"

report 'ncurses is included in cli/top only' "$(border 'n?curses' cli/top)"

report 'core includes lib and itself only' \
    "$(grep -nE '^#include "' $(git ls-files 'daemon/core/*.[ch]') |
        grep -vE '"(lib|daemon/core)/' || true)"
report 'core, lib and store know no clock' \
    "$(grep -nE '\b(time|clock_gettime|gettimeofday)\(' $(git ls-files 'daemon/core/*.c' \
        'lib/expr/*.c' 'lib/spec/*.c' 'daemon/store/*.c') || true)"
report 'banned calls are not made' "$(grep -nE \
    '(^|[^a-z_>.])(strcpy|strcat|sprintf|vsprintf|atoi|atol|atof|strtok|gets|sleep|usleep|system)\(' \
    "${sources[@]}" | grep -vE '^[^:]*:[0-9]+: *(/?\*|//)' || true)"
report 'memory is allocated by lib/memory.h' "$(grep -nE \
    '(^|[^a-z_>.])(malloc|calloc|realloc|reallocarray|strdup|strndup)\(' \
    $(git ls-files 'lib/*.[ch]' 'daemon/*.[ch]' 'worker/*.[ch]' 'cli/*.[ch]' |
        grep -vE '^(lib/memory\.[ch]|worker/(model|preflight)/.*)$') |
    grep -vE '^[^:]*:[0-9]+: *(/?\*|//)' || true)"
report 'exit is called in main files and in children of a fork only' "$(grep -nE \
    '(^|[^a-z_])exit\(' $(git ls-files '*.c' | grep -vE 'main\.c$|^tests/') || true)"
# words TABLE: the words of the tables of lib/protocol/words.h whose names match the regular expression.
words() {
    awk -v table="$1" '/^#define / { is_in = $2 ~ "^(" table ")[(]" }
        is_in && match($0, /^ +X\([A-Z_]+, "[^"]+"/) { split($0, part, "\""); print part[2] }' \
        lib/protocol/words.h lib/protocol/job_state.h
}
# compared FILE...: where a state, outcome, cause, command of people or kind of notice is compared as text.
# A call of several lines counts as one line. `nan` may be a number.
compared() {
    local words
    words=$(words '.*_(STATES|OUTCOMES|CAUSES|KINDS)|PHASE_COMMANDS' | sort -u | grep -vxE "none|nan" | paste -sd '|')
    awk -v pattern="(text_equal|strn?cmp)[(]([^()]|[(]([^()]|[(][^()]*[)])*[)])*\"($words)\"" '
        FNR == 1 { call = "" }
        { call = call $0 }
        /[,(]$/ { next }
        call ~ pattern { gsub(/ +/, " ", call); print FILENAME ":" FNR ":" call }
        { call = "" }' "$@"
}
example=$(mktemp) || exit 1
trap 'rm -f "$example"' EXIT
printf '%s\n' 'a = text_equal(field_text(run, "state"), "ended");' 'b = strcmp(outcome,' '    "timed_out") != 0;' \
    'c = text_equal(field_text(run, "state"), before) ? "failed" : "held";' >"$example"
found=$(compared "$example" | cut -d: -f2 | paste -sd ' ')
report 'a word that is compared as text is found' \
    "$([ "$found" = '1 3' ] || echo "found in line '$found' of the example, not in lines 1 and 3")"
report 'states, outcomes, causes, commands and kinds of notices are compared as enums' \
    "$(compared $(git ls-files 'cli/*.c' 'daemon/*.c' 'lib/*.c' 'worker/*.c'))"
report 'the verbs that decide are the commands of people' "$(diff <(words PHASE_COMMANDS) \
    <(sed -nE 's/^ *\{"([a-z]+)", (action|retry)_verb,.*/\1/p' cli/verbs.c))"
tools=$(awk -F '"' '/^    [{]\.name = / { name = $2 } /TOOL_DECIDES,/ { print name }' cli/mcp/tool.c)
report 'the tools that decide are commands of people' "$(
    [ -n "$tools" ] || echo 'no tool was found in cli/mcp/tool.c'
    grep -vxFf <(words PHASE_COMMANDS) <<<"$tools")"

# guessed FILE...: where a program decides by words in a reason or a message. Those are sentences for people.
guessed() {
    grep -nE -e '(text_starts|text_ends|text_equal|strstr|strn?cmp)\([^;]*(reason|message)(->data)?"?\)?, "[^"]*[a-z/]' \
        -e "(reason|message)(\)|\.)+((startsWith|endsWith|includes|indexOf)\(['\"\`]|(match|matchAll|search|replace|split)\()" \
        -e '/\.(exec|test)\([^;]*(reason|message)\)' "$@"
}
cat >"$example" <<'EXAMPLE'
a = text_starts(phase->reason, "held by its budget");
b = strstr(field_text(run, "message"), "refused");
c = text_starts(field_text(run, "message"), field_text(guard, "reason")) || strstr(message, ": /");
if (phase.reason.startsWith('held')) return run.message.includes(failure.line);
char *path = message->data ? strstr(message->data, ": /") : NULL;
const found = /^step (\d+)/.exec(event.message);
const [step] = event.message.match(STEP);
EXAMPLE
found=$(guessed "$example" | cut -d: -f1 | paste -sd ' ')
report 'a program that decides by a sentence for people is found' \
    "$([ "$found" = '1 2 3 4 5 6 7' ] || echo "found in lines '$found' of the example, not in each line")"
report 'no program decides by a sentence for people' "$(guessed $(git ls-files \
    'cli/*.c' 'daemon/*.c' 'lib/*.c' 'worker/*.c' 'web/*.js' | grep -vE '^(daemon/slurm|worker/preflight)/') || true)"

# weak FILE...: lines of bats files that may be false without an end of the test, because bash ignores them
# under `set -e`: `! command` (`run ! command` ends it), and a test before `&&`. In the last line of a
# function they are its result. And lines that wait for what cannot change, because bash asks `"$(`
# only once, before the first try. The name of a file begins so, as in "$(out)/ckpt".
weak() {
    awk 'FNR == 1 { found = "" }
        found && !is_open && !/^}/ { print found }
        !is_open { found = "" }
        /^ +! / || /^ +\[.*\]\]? && \[.*\]$/ { found = FILENAME ":" FNR ":" $0 }
        /(eventually [0-9]+|await) test .*"\$\(.*\)"/ { print FILENAME ":" FNR ":" $0 }
        { is_open = /[|\\]$/ }' "$@"
}
printf '%s\n' '    ! a' '    [ b = c ] && [[ d = e ]]' '    f' '    ! g |' '        h' '}' '    ! i' '}' \
    '    eventually 60 test 3 = "$(f "x")"' '    eventually 60 test -s "$(f x)/y"' >"$example"
found=$(weak "$example" | cut -d: -f2 | paste -sd ' ')
report 'a line that ends no test is found' \
    "$([ "$found" = '1 2 9' ] || echo "found in lines '$found' of the example, not in lines 1, 2 and 9")"
report 'what a test demands ends the test if it is false' "$(weak $(git ls-files '*.bats' '*.bash'))"

report 'nothing is left to do without saying where it is written down' \
    "$(grep -nE 'TODO|FIXME|XXX' "${sources[@]}" | grep -vE 'TODO\(#[0-9]+\)|XXXXXX' || true)"

report 'each folder has a README' "$(git -c core.quotePath=false ls-files | sed -n 's,/[^/]*$,,p' | sort -u |
    grep -vE '^(\.ci|m4|tests/(specs|logs|sbatch)/.*|tests/fuzz/corpus.*|schema/(queries|record)|etc/workflows|doc/man|etc/completions|debian/source|build-aux)$' |
    while read -r folder; do [ -f "$folder/README.md" ] || echo "$folder"; done)"

# The README of the repository is a front page, with a picture of the product.
report 'the README of a folder is one screen: at most 60 lines' "$(git ls-files '*/README.md' |
    xargs wc -l | awk '$2 != "total" && $1 > 60 { print $2 ": " $1 " lines" }')"

# doc/spec.md is written by `make keys`. A table, a heading, a picture and a link are lines that
# cannot be broken.
report 'the prose of pages has lines of at most 100 characters' "$(git ls-files '*.md' |
    grep -vx doc/spec.md | LC_ALL=C xargs awk '
        FNR == 1 { is_code = 0 }
        /^```/ { is_code = !is_code }
        { gsub(/[\200-\277]/, "") } # a letter counts once
        !is_code && length > 100 && !/^[|#!]/ && !/\]\(http/ { print FILENAME ":" FNR ": " length }')"

made='(^|/)(sqlite3\.h|features\.h|interface\.h|queries\.[ch])$' # by libraries, and by the build
report 'files that the code names by their paths exist' "$(
    grep -ohE '\b(lib|daemon|worker|cli|tests|schema)/[a-z_0-9/]+\.([ch]|cuh?|md)\b' "${sources[@]}" | sort -u |
        while read -r file; do [ -e "$file" ] || [[ $file =~ $made ]] || echo "$file"; done)"

# The files that git knows, by their paths and by each end of a path: b/c.h and c.h of a/b/c.h.
declare -A ending=()
while read -r file; do
    end=/$file
    while [[ $end == */* ]]; do
        end=${end#*/}
        ending[$end]+=" $file"
    done
done < <(git ls-files)

# What pages name in code quotes, and what is not there: `file.c`, `function()`, `function()` in
# `file.c`.
misnamed() {
    local page function file found
    local -A is_called=()
    while read -r function; do is_called[$function]=yes; done < <(
        git grep -ohE '[a-z_0-9]+\(' -- '*.c' '*.h' '*.cu' '*.cuh' '*.js' '*.py' | sort -u)
    git ls-files '*.md' | while read -r page; do
        tr '\n' ' ' <"$page" |
            grep -oE '`[a-z_0-9]+\(\)`( (in |\()?`[a-z_0-9/]+\.c`)?|`[a-z_0-9/-]+\.(c|h|cuh?)`' | sort -u |
            while IFS='`' read -r _ function _ file _; do
                [[ $function == *'()' ]] || { file=$function; function=''; }
                function=${function%??}
                found=${file:+${ending[$file]-}}
                if [ -n "$file" ] && [ -z "$found" ]; then
                    [[ $file =~ $made ]] || echo "$page: there is no $file"
                elif [ -n "$file" ] && [ -n "$function" ]; then
                    grep -qE "^[a-z].*\b$function\(" $found || echo "$page: $function() is not in $file"
                elif [ -n "$function" ]; then
                    [ -n "${is_called["$function("]-}" ] || echo "$page: there is no $function()"
                fi
            done
    done
}
report 'files and functions that pages name exist' "$(misnamed)"

# What the last column of doc/what-happens-when.md names, and what is not there: `FILE: TITLE, TITLE;
# FILE`. A piece of a title up to a comma or ` ...` is enough.
untested() {
    local page=doc/what-happens-when.md file titles title path tests
    awk -F'|' '/^\|/ { print $(NF - 1) }' $page | tr ';' '\n' |
        grep -oE '^ *(test_[a-z_0-9]+|[a-z_0-9]+\.bats)\b.*' | while IFS=: read -r file titles; do
            file=${file// /}
            path=${ending[$file]-}${ending[$file.c]-}${ending[$file.bats]-}
            [ -n "$path" ] || { echo "$page: there is no $file"; continue; }
            tests=$(grep -E '^(@test |static void |int test_)' $path)
            titles=${titles// .../}
            while read -r title; do # which takes the blanks at its ends
                [[ $tests == *"$title"* ]] || echo "$page: $file has no test '$title'"
            done <<<"${titles//, /$'\n'}"
        done
}
report 'tests that a page names exist' "$(untested)"

report 'doc/api.md lists the codes of errors' "$(diff \
    <(sed -n '/The codes are:/,/^A request/s/^- \([a-z_]*\).*/\1/p' doc/api.md | sort) \
    <(sed -nE 's/^ +X\([A-Z_]+, "([a-z_]+)", [0-9]+\).*/\1/p' daemon/api/server.h | sort -u))"

# A row has an example in place of {phase}. The routes of workers are in doc/protocol.md.
report 'doc/api.md has a row for each route, and a route for each row' "$(diff \
    <(sed -n 's/^| \(`[A-Z]* [/.][^|]*`\) |.*/\1/p' doc/api.md | grep -oE '[A-Z]+ [^?`]+' | sed '
        s,\.\.\./runs,.../phases/validate/runs,; s,\.\.\.,/v1/workflows/7,; s,/7,/{workflow},; s,/validate,/{phase},
        s,/runs/2,/runs/{attempt},; s,/n7,/{node},; s,<verb>,{verb},' | sort -u) \
    <(sed -nE 's/^ +\{"([A-Z]+)", "([^"]+)", .*/\1 \2/p' daemon/api/routes.c | grep -v ' /v1/worker/' | sort))"

# Prints the words of a page that stand in code quotes, in drawings and in code.
shown() {
    awk '/^```/ { is_code = !is_code; next }
         is_code || /^    / { print; next }
         { n = split($0, part, "`"); for (i = 2; i <= n; i += 2) print part[i] }' "$1" |
        grep -oE '[a-zA-Z_0-9-]+' | sort -u
}
# The files of these folders of tests have names that say what they test.
unlisted() {
    local readme folder
    git ls-files '*/README.md' | grep -vE '^tests/(unit|fuzz|system)/' | while read -r readme; do
        folder=${readme%/README.md}
        git ls-files "$folder" | grep -E "^$folder/[^/]+\.(c|cu|js|py)$" | sed -E 's,.*/,,; s/\.[a-z]+$//' |
            sort -u | comm -23 - <(shown "$readme") | sed "s,^,$readme does not list ,"
    done
}
report 'a README lists the files of its folder' "$(unlisted)"
# What the first column of a table of files names.
absent() {
    local readme name
    git ls-files '*/README.md' | while read -r readme; do
        awk '!/^\|/ { is_table = 0 } is_table { split($0, cell, "|"); print cell[2] } /^\| file \|/ { is_table = 1 }' \
            "$readme" | grep -oE '`[^`]+`' | tr -d '`' | while read -r name; do
            name=${readme%/*}/${name%/}
            [[ ${ending[$name]-} == *" $name" ]] ||
                [ -n "$(git ls-files "$name" "$name.*" "$name/*")" ] || echo "$readme: there is no $name"
        done
    done
}
report 'files that the tables of a README list exist' "$(absent)"

report 'nothing generated by autotools is committed' \
    "$(git ls-files | grep -E '(^|/)(configure|Makefile\.in|aclocal\.m4|config\.h\.in|build-aux/.*)$' || true)"

# What `make dist` carries, and what git knows. A folder that is distributed stands for all in it.
# Hidden files are for people at work.
known=$(git -c core.quotePath=false ls-files | grep -vE '(^|/)\.')
undistributed() {
    awk -v carried="$carried" '
        BEGIN {
            count = split(carried, lines, "\n")
            for (i = 1; i <= count; i++)
                is_carried[lines[i]] = 1
        }
        {
            for (path = $0; !(path in is_carried) && sub("/[^/]*$", "", path);)
                ;
            if (!(path in is_carried))
                print
        }' <<<"$known"
}
unknown() {
    local made='^(configure|aclocal\.m4|config\.h\.in|Makefile\.in|build-aux/.*)$' folders
    folders=$(awk '{ while (sub("/[^/]*$", "")) print }' <<<"$known" | sort -u)
    grep -vE "$made" <<<"$carried" | grep -vxF -f <(printf '%s\n' "$known" "$folders")
}
if [ -e "${BIN:-}/../Makefile" ]; then
    export MAKEFLAGS=''
    make -s -C "$BIN/.." Makefile >/dev/null 2>&1 # it may be older than its pieces
    carried=$(make -s -C "$BIN/.." list-dist)
    report 'what git knows is distributed' "$(undistributed)"
    report 'what is distributed is known to git, or made by autotools' "$(unknown)"
fi

# The compiler of a .c file shows whether the first header there compiles alone.
headers_alone() {
    local flags header first
    flags=$(pkg-config --cflags jansson libfyaml libuv libmicrohttpd cmocka 2>/dev/null)
    first=$(git ls-files '*.c' | xargs awk '
        FNR == 1 { seen = 0 }
        /^#include/ && !seen++ { gsub(/"/, "", $2); print $2 }')
    git ls-files '*.h' | grep -vxFf <(echo "$first") | while read -r header; do
        # shellcheck disable=SC2086
        ${CC:-gcc} -std=gnu17 -D_GNU_SOURCE -I. -I"${BIN:-.}/.." $flags -fsyntax-only -x c "$header" 2>&1 |
            head -3
    done
}
report 'each header compiles alone' "$(headers_alone)"

# As report, of what COMMAND prints; without TOOL nothing is known: report_by TOOL TITLE COMMAND.
report_by() {
    if command -v "$1" >/dev/null; then
        report "$2" "$("$3" 2>&1 | grep -E ': (warning|error):' | cut -c1-120 | head -20)"
    else
        count=$((count + 1))
        echo "ok $count - $2 # SKIP there is no $1"
    fi
}

formatted() {
    clang-format --dry-run "${sources[@]}"
}
report_by clang-format 'the code is formatted by .clang-format' formatted

# The headers of CUDA are where configure found them; without them what includes them is left out.
linted() {
    local cuda='' files
    files=$(git ls-files 'lib/*.c' 'daemon/*.c' 'worker/*.c' 'cli/*.c')
    if [ -x "${BIN:-.}/phase-preflight-gpu" ]; then
        cuda=$(sed -n 's/^CUDA_CPPFLAGS = //p' "$BIN/../Makefile")
    else
        files=$(xargs grep -LE '<(cuda|cublas|cudnn|nccl).*\.h>' <<<"$files")
    fi
    xargs -P "$(nproc)" -I FILE clang-tidy --quiet FILE -- -std=gnu17 -D_GNU_SOURCE -I. \
        -I"${BIN:-.}/.." -DPHASED_PKGLIBEXECDIR='""' -DPHASED_PKGDATADIR='""' \
        -DPHASED_PKGLIBDIR='""' $cuda $(pkg-config --cflags jansson libfyaml libuv libmicrohttpd) <<<"$files"
}
lint=clang-tidy
[ -z "${PHASED_CHECK-}" ] || [ -n "${CI-}" ] || lint='clang-tidy in ./quickstart check'
report_by "$lint" 'the code passes .clang-tidy' linted

echo "1..$count"
