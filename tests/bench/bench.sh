# Runs tests/bench/run with small numbers, and requires each figure of README.md, so that no
# benchmark breaks unnoticed. The values are not judged.
here=${SRC:-.}/tests/bench
mapfile -t figures < <(awk -F'|' '$2 ~ /`/ { print $2 }' "$here/README.md" | grep -o '[a-z0-9_]\+')
for tool in gojq sqlite3 slurmctld munged; do
    PATH=$PATH:/usr/sbin command -v "$tool" >/dev/null || {
        echo "1..0 # SKIP no $tool"
        exit 0
    }
done
echo "1..$((${#figures[@]} + 1))"
said=$(mktemp)
trap 'rm -f "$said"' EXIT
printed=$(bash "$here/run" --small 2>"$said") && echo "ok 1 - the benchmarks run" || {
    echo "not ok 1 - the benchmarks run"
    sed 's/^/# /' "$said"
}
number=1
for figure in "${figures[@]}"; do
    number=$((number + 1))
    if grep -qE "^$figure -?[0-9]+(\.[0-9]+)? [^ ]+ [^ ]+ -?[0-9]+(\.[0-9]+)? -?[0-9]+\.[0-9]+$" <<<"$printed"; then
        echo "ok $number - $figure has a value"
    else
        echo "not ok $number - $figure has a value"
    fi
done
