#!/bin/bash
# Whether `phasectl check` finds nothing to say about the workflows in doc/guide/cookbook.md. Each
# fenced block there is a workflow. Prints TAP.
set -u
cookbook=${SRC:-.}/doc/guide/cookbook.md
phasectl=$(realpath "${BIN:-build/bin}/phasectl")
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

cd "$(dirname "$cookbook")" || exit 1
awk -v work="$work" '
    /^```yaml$/ { file = sprintf("%s/%02d.yaml", work, ++count); next }
    /^```/ { file = "" }
    file { print > file }' cookbook.md
cd "$work" || exit 1
count=0
for workflow in *.yaml; do
    count=$((count + 1))
    said=$("$phasectl" check "$workflow" 2>&1)
    title="cookbook: $(sed -n 's/^name: //p' "$workflow") is good"
    if [[ "$said" =~ ^[0-9]+\.yaml\ is\ good:\ [0-9]+\ phases?(,\ .+\ members)?$ ]]; then
        echo "ok $count - $title"
    else
        echo "not ok $count - $title"
        sed 's/^/# /' <<<"$said"
    fi
done
echo "1..$count"
