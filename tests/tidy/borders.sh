#!/bin/bash
# The borders between folders: which folder may use which, for includes and for calls, and which
# library. Prints TAP and names each breach. Calls are read from the object files, so that a
# declaration by hand is found, too.
set -u
cd "${SRC:-.}" || exit 1
git ls-files --error-unmatch configure.ac >/dev/null 2>&1 || { echo "1..0 # SKIP the rules are for what git knows"; exit 0; }
build=${BIN:-build/bin}/..

# A row is a folder (or one file), then the folders that it may use. `lib/*` stands for lib and all
# folders in it. The rows of worker are its floors: a row may use the rows above it.
rooms() {
    cat <<'ROOMS'
lib
lib/protocol            lib
lib/expr                lib
lib/metrics             lib lib/expr
lib/spec                lib lib/expr lib/protocol lib/metrics
lib/failures            lib lib/protocol lib/spec
lib/sbatch              lib lib/spec
cli                     lib/*
cli/reader              lib/* cli
cli/logs                lib/* cli cli/reader
cli/mcp                 lib/* cli
cli/metrics             lib/* cli cli/reader
cli/top                 lib/* cli cli/logs
cli/compare             lib/* cli cli/reader
cli/doctor              lib/* cli cli/reader
cli/remote              lib/* cli
cli/oldlog.c            lib/* cli cli/logs
cli/main.c              lib/* cli cli/remote
cli/verbs.c             lib/* cli cli/compare cli/doctor cli/logs cli/mcp cli/metrics cli/top
cli/watch.c             lib/* cli cli/top
worker                  lib/*
worker/protocol         lib/* worker
worker/process          lib/* worker worker/protocol
worker/metrics          lib/* worker worker/protocol worker/process
worker/telemetry        lib/* worker worker/protocol worker/process worker/metrics
worker/health           lib/* worker worker/protocol worker/process worker/metrics worker/telemetry
worker/node             lib/* worker worker/protocol worker/process worker/metrics worker/telemetry worker/health
worker/lead             lib/* worker worker/protocol worker/process worker/metrics worker/telemetry worker/health worker/node
worker/main.c           lib/* worker worker/protocol worker/process worker/metrics worker/telemetry worker/health worker/node worker/lead
worker/model            lib/*
worker/model/cuda       lib/* worker/model
worker/preflight        lib/* worker
worker/preflight/gpu    lib/* worker worker/preflight
daemon                  lib/*
daemon/core             lib/*
daemon/slurm            lib/*
daemon/store            lib/* daemon/core
daemon/loop             lib/* daemon/core daemon/slurm daemon/store
daemon/admission        lib/* daemon/core daemon/store daemon/loop
daemon/launch           lib/* daemon/core daemon/slurm daemon/store daemon/loop daemon/admission
daemon/ingest           lib/* daemon/core daemon/store daemon/loop daemon/launch
daemon/outlook          lib/* daemon/core daemon/slurm daemon/store daemon/loop daemon/admission daemon/launch
daemon/judge            lib/* daemon/core daemon/store daemon/loop daemon/launch daemon/outlook
daemon/notify           lib/* daemon/core daemon/store daemon/loop
daemon/rooms.c          daemon daemon/admission daemon/launch daemon/ingest daemon/outlook daemon/judge daemon/notify
daemon/api              lib/* daemon/core daemon/slurm daemon/store daemon/loop daemon/admission daemon/launch daemon/ingest daemon/outlook daemon/judge
daemon/main.c           lib/* daemon daemon/slurm daemon/store daemon/loop daemon/api
ROOMS
}

# Reads lines "USER USED [WHAT]" of two files. Prints those that no row allows.
breaches() {
    awk -v rows="$(rooms)" '
        function folder(file) { sub("/[^/]*$", "", file); return file }
        function room(file) { return file in row ? file : folder(file) }
        function allows(user, used,   i, n, words) {
            if (room(user) == folder(used))
                return 1
            n = split(row[room(user)], words)
            for (i = 2; i <= n; i++)
                if (words[i] == folder(used) || (words[i] == "lib/*" && used ~ /^lib\//))
                    return 1
            return 0
        }
        BEGIN {
            lines = split(rows, all, "\n")
            for (i = 1; i <= lines; i++) {
                split(all[i], first)
                row[first[1]] = all[i]
            }
        }
        !(room($1) in row) { print $1 ": its folder has no row in tests/tidy/borders.sh"; next }
        !allows($1, $2) { print $1 " uses " $2 ($3 ? ": " $3 : "") }
    ' | sort -u
}

. tests/tidy/report.bash

includes() {
    local files
    mapfile -t files < <(git ls-files 'lib/*.[ch]' 'cli/*.[ch]' 'worker/*.[ch]' 'worker/*.cu' \
        'worker/*.cuh' 'daemon/*.[ch]')
    grep -HE '^#include "[^"]*/' "${files[@]}" |
        sed -E 's/^([^:]*):#include "([^"]*)".*/\1 \2/' | grep -v ' schema/'
}
report 'no include crosses a border' "$(includes | breaches)"

# A row is a library by the beginning of its headers, then the folders that may include them. The
# core decides without any of them but jansson.
libraries() {
    cat <<'LIBRARIES'
uv.h            daemon daemon/api daemon/loop worker/health worker/lead worker/node worker/process worker/telemetry
jansson.h       lib/* cli/* daemon daemon/admission daemon/api daemon/ingest daemon/judge daemon/launch daemon/loop daemon/outlook daemon/store worker/*
sqlite3.h       daemon/store cli/metrics cli/reader
microhttpd.h    daemon/api
slurm/          daemon/slurm
curl/           lib worker worker/protocol
sodium.h        lib daemon/store worker/node worker/model
libfyaml.h      lib/spec
pcre2.h         lib lib/failures lib/metrics lib/sbatch
ncurses.h       cli/top
cuda            worker/model/cuda worker/preflight/gpu
cublas          worker/model/cuda worker/preflight/gpu
cudnn           worker/model/cuda
nccl.h          worker/model/cuda worker/preflight/gpu
LIBRARIES
}
# Reads lines "FILE HEADER". Prints those that no row allows. Headers that no row names, such as those
# of C, may be included by all.
strangers() {
    awk -v rows="$(libraries)" '
        BEGIN { lines = split(rows, row, "\n") }
        {
            folder = $1
            sub("/[^/]*$", "", folder)
            for (i = 1; i <= lines; i++) {
                n = split(row[i], word)
                if (index($2, word[1]) != 1)
                    continue
                for (j = 2; j <= n; j++) {
                    top = word[j]
                    if (folder == top || (sub(/\/\*$/, "", top) && (folder == top || index(folder, top "/") == 1)))
                        next
                }
                print $1 " includes " $2
                next
            }
        }'
}
report 'a strange library is found' "$(printf '%s\n' 'daemon/core/x.c sqlite3.h' 'cli/top/x.c jansson.h' \
    'cli/x.c stdio.h' 'worker/node/x.c curl/curl.h' | strangers | cmp - <(printf '%s\n' \
    'daemon/core/x.c includes sqlite3.h' 'worker/node/x.c includes curl/curl.h') 2>&1)"
library_includes() {
    git grep -oE '^#include <[^>]+' -- 'lib/*.[ch]' 'cli/*.[ch]' 'worker/*.[ch]' 'worker/*.cu' 'worker/*.cuh' \
        'daemon/*.[ch]' | sed 's/:#include </ /'
}
report 'each library is included by its folders alone' "$(library_includes | strangers)"

# The loop of the daemon and each of its rooms have one header for all others.
headers() {
    git ls-files 'daemon/*.[ch]' | xargs grep -HE '^#include "daemon/(admission|ingest|judge|launch|loop|notify|outlook)/' |
        sed -E 's/^([^:]*):#include "([^"]*)".*/\1 \2/' |
        awk '{ split($1, user, "/"); split($2, used, "/") }
             user[2] != used[2] && used[3] != used[2] ".h" { print $1 " includes " $2 }'
}
report 'a room has one header for others' "$(headers)"

# The names of the members of messages stand in the rows of lib/protocol. Other code knows the structs.
members() {
    sed -E 's/\), +MEMBER/),\nMEMBER/' lib/protocol/*.c |
        sed -nE 's/^ *MEMBER(_OR)?\([a-z_]+, ([a-z_]+), .*/\2/p
                 s/^ *MEMBER_IS\([a-z_]+, ([a-z_]+), .*/\1/p
                 s/^ *MEMBER(_ROW|_OF_WORDS)\([a-z_]+, [a-z_.]+, "([a-z_]+)".*/\2/p'
}
# Other documents have some of these names, too. A row is a file or a folder (`cli/*`), the names that
# it may give to jansson, and why. The first row that fits counts. API stands for the names of doc/api.md,
# KEYS for the keys of a workflow file.
other_documents() {
    cat <<'DOCUMENTS'
cli/client.c                  run                   # API: RUN
cli/doctor/phased.c                                 # it reads daemon.json
cli/reader/folder.c           attempt phase resume  # what `metrics` reads of a record (reader.h)
cli/*                         API evidence failure processes python # answers of the API
daemon/api/api.c                                    # it writes daemon.json
daemon/api/worker.c                                 # it talks with leads
daemon/admission/*            API                   # answers of the API
daemon/api/*                  API                   # the API
daemon/ingest/entry.c         name reason           # rows of a preflight
daemon/judge/*                API                   # answers of the API
daemon/launch/job_order.c     workdir               # KEYS: the workflow file
daemon/launch/secrets.c       by_gpu phase          # KEYS: the workflow file
daemon/notify/*               API                   # notices
daemon/outlook/*              API                   # answers of the API
daemon/store/run.c                                  # it stores what workers tell
daemon/store/sample.c         gpu gpus node seconds # answers of the API
daemon/store/*                API                   # answers of the API
lib/expr/*                    advice last_step name outcome reason rows seconds steps # checks and verdicts
lib/failures/*                advice blame cause name # the catalogue of failures
lib/metrics/*                 step steps            # checks, and the columns of metrics
lib/saved.c                   bytes path paths step time # the list of saved checkpoints
lib/spec/problems.c           line message path     # problems of a workflow file
lib/spec/*                    KEYS from name number phase seconds steps values # the workflow file
worker/health/outlier.c       pid rank              # `counts` of a report
worker/lead/lead_hang.c       nodes                 # `evidence` of an outcome
worker/model/prompts.c        line                  # prompts of phase-model
worker/node/channel.c         checkpoint path step values # what programs tell (channel.h)
worker/node/nodecheck_report.c name rows            # what phase-preflight prints
worker/node/observer.c        path step             # what programs tell (channel.h)
worker/node/rendezvous.c      port                  # a file between nodes
worker/preflight/report.c     level name node observe outcome rows # what phase-preflight prints
worker/preflight/speed.c      name                  # what phase-preflight prints
worker/protocol/assignment.c  checkpoint gpus path run # KEYS: the workflow file
DOCUMENTS
}
other_names() {
    local pattern names
    while read -r pattern names; do
        # shellcheck disable=SC2053 # a pattern
        [[ $1 == $pattern ]] && break
        names=
    done < <(other_documents)
    names=${names%%#*}
    [[ " $names" == *' API '* ]] && grep -oE '"[a-z_]+"' doc/api.md | tr -d '"'
    [[ " $names" == *' KEYS '* ]] && sed -nE 's/^(WORKFLOW_|PHASE_)?KEY\(([A-Z]+, )?"([a-z_]+)".*/\3/p' lib/spec/keys.def
    printf '%s\n' $names
}
member_names=$(members)
# named_members [FILE]: reads C. Prints the names of members that it gives to jansson, but those that
# FILE may have.
named_members() {
    tr '\n' ' ' | grep -oE 'json_(object_(get|set|set_new|del)|pack|unpack|unpack_ex)\([^;]*;' |
        grep -oE '"[a-z_]+"' | tr -d '"' | grep -xF "$member_names" | grep -vxFf <(other_names "${1-}") | sort -u
}
stray_members() {
    local file
    git ls-files 'cli/*.c' 'daemon/*.c' 'lib/*.c' 'worker/*.c' 'worker/*.cu' | grep -v '^lib/protocol/' |
        while read -r file; do
            named_members "$file" <"$file" | sed "s,^,$file names the member ,"
        done
}
report 'a name of a member outside of lib/protocol is found' "$(
    [ "$(named_members <<<'x = json_object_get(entry,
        "run_dir"); y = json_pack("{s:i}", "own", 1);')" = run_dir ] || echo 'run_dir is not found')"
report 'the names of members of messages stand in lib/protocol' "$(stray_members)"

# Prints "USER USED SYMBOL" for the files that git knows, from the object files of their newest
# build. If several programs define a symbol, the nearest definition counts: that of the same folder
# before those of folders in it.
calls() {
    (cd "$build" && find lib cli worker daemon -name '*.o' | sort | xargs nm -A -g) 2>/dev/null |
        awk -v known="$(git ls-files 'lib/*.c' 'cli/*.c' 'worker/*.c' \
            'daemon/*.c')" '
            function source(object,   file) {
                file = object
                sub(/\.o$/, ".c", file)
                if (!(file in is_known))
                    sub(/\/[^\/-]*-/, "/", file) # of a library with flags of its own
                return file
            }
            function common(a, b,   n, shared) {
                for (n = 0; substr(a, 1, n + 1) == substr(b, 1, n + 1) && n < length(a); n++)
                    ;
                shared = substr(a, 1, n)
                sub(/[^\/]*$/, "", shared)
                return length(shared) * 1000 - gsub(/\//, "/", b) * 100 + n
            }
            BEGIN {
                split(known, files, "\n")
                for (i in files)
                    is_known[files[i]] = 1
            }
            {
                split($1, object, ":")
                file = source(object[1])
                if (!(file in is_known))
                    next # it was built from a file that is gone
                if ($(NF - 1) == "U")
                    uses[file " " $NF] = 1
                else
                    made[$NF] = made[$NF] " " file
            }
            END {
                for (use in uses) {
                    split(use, word, " ")
                    n = split(made[word[2]], makers, " ")
                    best = ""
                    for (i = 1; i <= n; i++)
                        if (!best || common(word[1], makers[i]) > common(word[1], best))
                            best = makers[i]
                    if (best && best != word[1])
                        print word[1], best, word[2]
                }
            }'
}
all_calls=$(calls)
# report_calls TITLE BREACHES: without a build, nothing is known about calls.
report_calls() {
    if [ -n "$all_calls" ]; then
        report "$1" "$2"
    else
        count=$((count + 1))
        echo "ok $count - $1 # SKIP nothing is built"
    fi
}
report_calls 'the calls are found' "$(grep -qx \
    'worker/lead/job_step.c worker/process/child.c child_start' <<<"$all_calls" || echo 'job_step.c has no call')"
report_calls 'no call crosses a border' "$(breaches <<<"$all_calls")"

# A circle of calls between files cannot be read from below, nor be tested alone. The table of a room
# names what calls it back.
circles() {
    awk '$3 !~ /_room$/ { print $1, $2 }' <<<"$all_calls" | grep "^$1/.* $1/" | sort -u |
        tsort 2>&1 >/dev/null | sed -n 's/^tsort: \([^-]\)/\1/p'
}
for program in lib worker cli daemon; do
    report_calls "no files of $program call each other in a circle" "$(circles $program)"
done

echo "1..$count"
