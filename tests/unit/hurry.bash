# HURRY: what is put before a command whose clocks shall be ten times as fast, where libfaketime is
# there. A benchmark measures each part for a tenth of a second, and a test need not wait so long. The
# command must not start others: processes of one family lose the library's shared memory.
HURRY=(env)
library=(/usr/lib*/*/faketime/libfaketimeMT.so.1)
[ ! -e "${library[0]}" ] || HURRY+=(LD_PRELOAD="${library[0]}" FAKETIME='+0 x10')
unset library
