# A clock for tests of what measures time.

# hurry: from here on the clocks of all commands are ten times as fast, where libfaketime is there. A
# benchmark measures each part for a tenth of a second, and a test need not wait so long.
hurry() {
    local library=(/usr/lib*/*/faketime/libfaketimeMT.so.1)
    [ ! -e "${library[0]}" ] || export LD_PRELOAD=${library[0]} FAKETIME='+0 x10'
}
