# What an attacker would like to find is not in the programs: a table of functions that can be
# written (full RELRO), buffers whose overrun nobody notices (stack protector, FORTIFY). Prints TAP.
makefile=$BIN/../Makefile
for tool in readelf nm; do
    command -v "$tool" >/dev/null || {
        echo "1..0 # SKIP no $tool"
        exit 0
    }
done
if grep -q '^SANITIZE_CFLAGS = .' "$makefile"; then
    echo "1..0 # SKIP sanitizers and the analyzer are built without"
    exit 0
fi
optimized=no
grep -qE '^CFLAGS = (.* )?-O([123s]|fast)?( |$)' "$makefile" && optimized=yes
number=0

# expect PROGRAM TITLE COMMAND...
expect() {
    local title="$1 $2"
    shift 2
    number=$((number + 1))
    if "$@"; then echo "ok $number - $title"; else echo "not ok $number - $title"; fi
}

needs() { nm -D --undefined-only "$1" | grep -qE " $2(@|\$)"; }
has_relro() { readelf -lW "$1" | grep -q GNU_RELRO && readelf -dW "$1" | grep -qE 'BIND_NOW|FLAGS_1.*NOW'; }
links_no_slurm() { ! readelf -dW "$1" | grep -q 'NEEDED.*libslurm'; }
is_fortified() { [ $optimized = no ] || needs "$1" '__[a-z]+_chk'; }

for program in "$BIN"/* "$BIN"/../lib/phased/*.so; do
    [ -f "$program" ] || continue
    name=${program##*/}
    expect "$name" 'has full RELRO' has_relro "$program"
    expect "$name" 'protects its stack' needs "$program" __stack_chk_fail
    expect "$name" 'has its buffers checked' is_fortified "$program"
    # Only the module may need one release of Slurm: the programs run with any.
    [[ $name = *.so ]] || expect "$name" 'links no libslurm' links_no_slurm "$program"
done
echo "1..$number"
