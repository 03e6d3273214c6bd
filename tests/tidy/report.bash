# What the scripts of this folder share: one test of TAP, numbered by `count`.
count=0

# skip TITLE REASON: one test that cannot run here.
skip() {
    count=$((count + 1))
    echo "ok $count - $1 # SKIP $2"
}

# report TITLE BREACHES: one test, with its breaches as diagnostics.
report() {
    count=$((count + 1))
    if [ -z "$2" ]; then
        echo "ok $count - $1"
    else
        echo "not ok $count - $1"
        sed 's/^/# /' <<<"$2"
    fi
}
