#!/bin/bash
# Code that a JIT compiler made is unwound by the unwind information that it registers, and named by the objects that
# it shows to debuggers: launched, attached, in namespaces, symbolized later, by an agent. Nothing of it keeps frame pointers.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need clang lli go unshare

chain='main;outer;outer;outer;outer;outer;outer;middle;leaf'
clang -O1 -fomit-frame-pointer -emit-llvm -c e2e/jit/deep.c -o "$TMP/deep.bc"

# LLVM, which registers both.
named() {
    expect_samples 500
    expect_complete 93
    expect_share 93 "_start;(.*;)?main;(.*;)?$chain" 'leaf'
}
HZ=499
for kind in mcjit orc; do
    record_both named -- lli --jit-kind=$kind "$TMP/deep.bc"
done


# In a PID namespace and a /tmp of its own; and recorded to be symbolized later, when the process is gone.
record -- unshare --mount --pid --fork --mount-proc --propagation private lli "$TMP/deep.bc"
named
"$XPROF" record --no-cache --raw -F 499 -o "$TMP/raw.pb.gz" --summary "$summary" -- lli "$TMP/deep.bc" 2>"$errors"
rm "$profile"
"$XPROF" symbolize --no-cache "$TMP/raw.pb.gz" -o "$profile" 2>>"$errors"
named

# Without sampling.
lli "$TMP/deep.bc" &
running=$!
at_exit "kill -KILL $running"
stacked() { # the order is the other way round there
    "$XPROF" stack --no-cache $running 2>"$errors" | grep -oE '  (leaf|middle|outer|main|_start)( |$)' | tr -d ' \n' |
        grep -qE '^(leaf)?(middle)?(outer)+mainmain_start$'
}
await stacked
kill -KILL $running

# __register_frame alone; and other code at the same place, second after second.
gcc -O2 -fomit-frame-pointer e2e/jit/register.c -o "$TMP/register"
unnamed() {
    expect_samples 500
    expect_complete "$1"
    expect_share "$1" '_start;(.*;)?main;run;\[anonymous\];\[anonymous\];\[anonymous\]' '.*;\[anonymous\]'
}
record -- "$TMP/register" 1 3
unnamed 85
record -- "$TMP/register" 4 1
unnamed 75
record -- "$TMP/register" 1 3 memfd
unnamed 85

# An agent, whose intervals end while the process lives, and when it is gone.
. e2e/agent/lib.sh
make_container "$(printf 'ab%.0s' {1..32})"
pod=host/abababababab
start_agent --host-processes off --rate 299 --max-rate 299 --max-cpu 100
(contained lli "$TMP/deep.bc")
sleep 2
[ "$(metric xprof_code_tables_loaded_total ok)" -ge 1 ] || fail "the agent has read no generated code"
end_agent
percent=$(percent_with $pod outer)
echo "agent: $percent % in outer"
[ "$percent" -ge 95 ] || fail "generated code has no names in the agent's profiles"
