#!/bin/bash
# USDT probes: counts are exact, by argument and with conditions on arguments in registers, memory, and constants; those
# behind a semaphore are reached while they are recorded, and only then; of a program that is launched, attached to, in another
# root directory; of programs and libraries of others; and what is misspelt is named.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need_kernel 6.6 'uprobe_multi links'

PROGRAM=xp_on_usdt
TARGET=usdt
. e2e/probes/lib.sh

for way in launched attached; do
    $way -e "usdt:$target:xprof:swim"
    exactly 100 "$root;rivers"
    exactly 50 "$root;lakes"
    $way -e "usdt:$target:xprof:swim" --value arg1:bytes
    exactly 5050 "$root;rivers"
    expect_no_stack "$root;lakes" # less than nothing is nothing
    $way -e "usdt:$target:xprof:swim" --filter 'arg2 == "dan*" && arg1 > 90 || arg1 == -7 && arg2 == "lake"'
    exactly 10 "$root;rivers"
    exactly 50 "$root;lakes"
    $way -e "usdt:$target:x*:wide" --value arg1
    exactly 40031 "$root;seas"
    $way -e "usdt:$target:xprof:wide" --value arg2 --filter 'arg2 != -25536 && arg1 > 1'
    exactly 30 "$root;seas"
    $way -e "usdt:$target:xprof:guarded" --filter 'arg1 == "guard"'
    exactly 300 "$root;guarded"
    echo "$way: counts, sums and conditions are exact"
done
"$target" | grep -qx 'guarded 0' || fail "the semaphore is still set"
launched -e "usdt:$target:xprof:*"
exactly 456 usdt

# Named later.
"$XPROF" record --raw -e "usdt:$target:xprof:swim" --value arg1:bytes -o "$TMP/raw.pb.gz" -- "$target" 2>"$errors" ||
    fail "a raw recording"
"$XPROF" symbolize -o "$profile" "$TMP/raw.pb.gz" 2>"$errors" || fail "xprof symbolize"
exactly 5050 "$root;rivers"

# In the root directory of a process.
mkdir "$TMP/root" "$TMP/there"
cp "$target" "$TMP/root/program"
unshare -m --propagation private sh -c "mount --bind $TMP/root $TMP/there && exec sleep 60" &
inside=$!
at_exit "kill $inside"
await test -e "/proc/$inside/root$TMP/there/program"
exact -e "usdt:pid:$inside:$TMP/there/program:xprof:guarded" -- "$TMP/root/program"
exactly 300 "program;.*;guarded"

# A library by its bare name: exceptions of C++. After the first one, the unwind table of the library is made.
cat >"$TMP/throw.cpp" <<'END'
#include <unistd.h>
__attribute__((noinline)) static void thrower(int i) { throw i; }
int main() { for (int i = 0; i < 77; i++) try { thrower(i); } catch (int) { if (!i) usleep(300000); } }
END
g++ -O2 "$TMP/throw.cpp" -o "$TMP/throw"
exact -e usdt:libstdc++.so.6:libstdcxx:throw -- "$TMP/throw"
exactly 77 throw
n=$(samples_of 'throw;.*;main;.*thrower.*;__cxa_throw')
[ "$n" -ge 76 ] || fail "$n of 77 exceptions have their stack"

# Debian's Python: which function returns is an argument, and so is what an event is.
python=/usr/bin/python3.11
if readelf -n "$python" 2>/dev/null | grep -q function__return; then
    exact -e "usdt:$python:python:function__return" --filter 'arg2 == "spam"' -- "$python" -c '
def spam(x): pass
def eggs(x): pass
list(map(spam, range(123)))
list(map(eggs, range(7)))'
    exactly 123 python3.11
fi

# What there is.
"$XPROF" list "usdt:$target" >"$TMP/list"
grep -qx "usdt:$target:xprof:wide arg1 arg2" "$TMP/list" || { cat "$TMP/list" && fail "the list"; }
"$XPROF" list --json "usdt:$target:xprof:swim" | jq -e '.[0].sites | map(.arguments) | index("-4@$-7 8@%rbx")' >"$TMP/out" ||
    fail "the list as JSON"
expect_exit 1 'it has no USDT probe' "$XPROF" list usdt:/bin/true

# What is misspelt is named, with what is like it.
expect_exit 2 'none of its USDT probes is xprof:swi; near it: xprof:swim' "$XPROF" record -a -e "usdt:$target:xprof:swi"
expect_exit 2 'near it: xprof:swim' "$XPROF" record -a -e "usdt:$target:other:swim"
expect_exit 2 'it has no USDT probes' "$XPROF" record -a -e usdt:/bin/true:a:b
expect_exit 2 'No such file' "$XPROF" record -a -e usdt:/nowhere/x:y:z
expect_exit 2 'expected usdt:FILE:PROVIDER:NAME' "$XPROF" record -a -e "usdt:$target:swim"
expect_exit 2 'no field arg3; fields: arg1 arg2' "$XPROF" record -a -e "usdt:$target:xprof:wide" --filter 'arg3 == 1'
expect_exit 2 'no number of that name' "$XPROF" record -a -e "usdt:$target:xprof:guarded" --value arg2
