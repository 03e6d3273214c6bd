# The schema, the list of keys in the manual and the reference are what schema/write_keys makes of the table.
cd "${SRC:-.}" || exit 1
write=$BIN/../schema/write_keys
echo "1..3"

# same NUMBER TITLE FILE: checks that standard input equals FILE.
same() {
    if differing=$(diff "$3" -); then
        echo "ok $1 - $2"
    else
        echo "not ok $1 - $2 (make keys)"
        sed 's/^/# /' <<<"$differing" | head -40
    fi
}

"$write" schema schema/forms.json | same 1 'the schema is that of the table of keys' schema/workflow.schema.json
"$write" manual schema/forms.json | awk -f schema/splice.awk - doc/man/phased-spec.5 |
    same 2 'phased-spec(5) lists the table of keys' doc/man/phased-spec.5
"$write" reference schema/forms.json | same 3 'doc/spec.md lists the table of keys' doc/spec.md
