#!/bin/bash
# The house rules for the page in web/: sizes, a purpose at the top of each file, and nothing that
# makes markup or code of text, or that asks another server. Prints TAP; names each breach.
set -u
cd "${SRC:-.}" || exit 1
git ls-files --error-unmatch configure.ac >/dev/null 2>&1 || { echo "1..0 # SKIP the rules are for what git knows"; exit 0; }
mapfile -t sources < <(git ls-files 'web/*.js' 'web/*.css' 'web/*.html')
mapfile -t scripts < <(git ls-files 'web/*.js')

. tests/tidy/report.bash

report 'there are files to look at' "$([ "${#scripts[@]}" -gt 5 ] || echo "only ${#scripts[@]} scripts")"

report 'files have at most 600 lines' \
    "$(wc -l "${sources[@]}" | awk '$2 != "total" && $1 > 600 { print $2 ": " $1 " lines" }')"

# The icon in index.html is one long address.
report 'lines have at most 100 columns' \
    "$(awk 'length($0) > 100 && !/href="data:/ { print FILENAME ":" FNR ": " length($0) " columns" }' "${sources[@]}")"

report 'functions have at most 70 lines' "$(awk '
    FNR == 1 { begin = 0 }
    /^(export )?(async )?function / { begin = FNR }
    /^}/ && begin { if (FNR - begin > 71) print FILENAME ":" begin ": " FNR - begin - 1 " lines"; begin = 0 }
' "${scripts[@]}")"

report 'each file begins with its purpose' \
    "$(for file in "${sources[@]}"; do head -n 2 "$file" | grep -qE '^(// |/\* |<!-- )' || echo "$file"; done)"

report 'text from outside cannot become markup or code' "$(grep -nE \
    'innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc|javascript:' "${sources[@]}")"

report 'no style and no script stands in the markup' "$(grep -nE \
    '<style|<script>|[ "]style=|[ "]on[a-z]+=' web/index.html)"

report 'nothing is asked of another server' "$(grep -nE '(https?:)?//[a-z0-9.-]+\.[a-z]+' "${sources[@]}" |
    grep -vE "xmlns='http://www\.w3\.org/2000/svg'" || true)"

echo "1..$count"
