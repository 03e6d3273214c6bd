# Puts the list of keys, which comes first, between the marks of the manual page, which comes second.
FNR == NR { list = list $0 "\n"; next }
/^\.\\" keys: end/ { is_inside = 0 }
!is_inside { print }
/^\.\\" keys: begin/ { printf "%s", list; is_inside = 1 }
