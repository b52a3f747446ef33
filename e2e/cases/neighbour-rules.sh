#!/bin/bash
# A container whose files bring as many unwind rules as they can: its own stacks are cut, and its neighbour's, which are
# sampled after that, are not.
set -euo pipefail
. e2e/lib.sh
need_root
need go
. e2e/agent/lib.sh

# A program with COUNT rules that no other one has; the CFA of its only frame is right.
crafted() { # NAME FIRST COUNT
    awk -v first="$2" -v n="$3" 'BEGIN {
        print ".text\n.globl main\nmain: .cfi_startproc\n1: dec %rcx\njmp 1b\n.cfi_endproc\nrules: .cfi_startproc"
        for (i = 0; i < n; i++)
            printf "nop\n.cfi_def_cfa_offset %d\n", 8 * (first + i)
        print "ret\n.cfi_endproc" }' >"$TMP/$1.s"
    gcc -no-pie "$TMP/$1.s" -o "$TMP/$1" -Wl,-z,noexecstack
    rm "$TMP/$1.s"
}
few=8000
crafted all 100 65000
for i in {0..9}; do crafted "part$i" $((100000 + i * few)) $few; done
OUT=victim build_target layout

start_agent --host-processes off
make_container "$(printf 'ab%.0s' {1..32})"
hogs=()
for program in all part{0..9}; do
    (contained "$TMP/$program") &
    hogs+=($!)
    at_exit "kill $!"
done
refused() { [ "$(metric xprof_stacks_total "$1")" -gt 0 ]; }
await refused 'cause="too-many-rules"'
await refused 'cause="share-full"'

make_container "$(printf 'cd%.0s' {1..32})"
(contained "$TMP/victim" 4000) &
await has_profiles host/cdcdcdcdcdcd
wait $!
end_agent
kill "${hogs[@]}"
part=$(percent_with host/cdcdcdcdcdcd main)
echo "$part % of the neighbour's stacks are whole"
[ "$part" -ge 99 ] || fail "more than its first ones are cut"
