#!/bin/bash
# Functions of programs and libraries as events: calls and returns are counted exactly, by argument or result, with
# conditions on them, and with whole stacks; of a program that is launched, attached to, in a container; of a library for
# all; and what is misspelt is named.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need_kernel 6.6 'uprobe_multi links'

build_target functions
program=$TMP/functions
exactly() { # NUMBER REGEX: the value of such stacks
    local n
    n=$(samples_of "$2")
    [ "$n" = "$1" ] || fail "$n, not $1, in $2"
}
root='functions;_start;__libc_start_main;(__libc_start_call_main;)?main'

launched() { # OPTION...
    record "$@" -- "$program"
    echo 1 >"$TMP/x.sample"
    expect_complete 100
}
attached() { # OPTION...
    local pid
    [ -p "$TMP/gate" ] || mkfifo "$TMP/gate"
    "$program" go <"$TMP/gate" >"$TMP/said" &
    pid=$!
    exec 3>"$TMP/gate"
    at_exit "kill -KILL $pid"
    await grep -q ready "$TMP/said"
    record "$@" -p $pid &
    recorder=$!
    await has_program xp_on_function
    sleep 0.3
    echo >&3
    exec 3>&-
    wait "$recorder" || fail "the recording ended with $?"
    wait $pid || fail "the program ended with $?"
    echo 1 >"$TMP/x.sample"
}
for way in launched attached; do
    $way -e "uprobe:$program:weigh"
    exactly 100 "$root;apples;weigh"
    exactly 50 "$root;pears;weigh"
    $way -e "uprobe:$program:weigh" --value arg2:bytes
    exactly 5050 "$root;apples;weigh"
    expect_no_stack "$root;pears;weigh" # less than nothing is nothing
    $way -e "uprobe:$program:weigh" --filter 'arg1 == "app*" && arg2 > 90 || arg2 == -8'
    exactly 10 "$root;apples;weigh"
    exactly 10 functions
    $way -e "uretprobe:$program:weigh" --filter 'retval == -1'
    exactly 50 "$root;pears"
    exactly 50 functions
    $way -e "uprobe:$program:[ap]*s"
    exactly 1 "$root;apples"
    exactly 1 "$root;pears"
    echo "$way: calls, returns, sums and conditions are exact"
done

# A library by its bare name, whoever calls it; and by an offset in the file.
record -e uprobe:libc.so.6:getpid -- python3 -c 'import os
for i in range(64): os.getpid()'
echo 1 >"$TMP/x.sample"
exactly 64 'python3;.*;getpid'
offset=$(readelf -sW "$program" | awk '$8 == "pears" { print $2 }')
launched -e "uprobe:$program:0x$offset"
exactly 1 "$root;pears"

# Named later.
"$XPROF" record --raw -e "uprobe:$program:weigh" --value arg2:bytes -o "$TMP/raw.pb.gz" -- "$program" 2>"$errors" ||
    fail "a raw recording"
"$XPROF" symbolize -o "$profile" "$TMP/raw.pb.gz" 2>"$errors" || fail "xprof symbolize"
exactly 5050 "$root;apples;weigh"

# In the root directory of a process.
mkdir "$TMP/root" "$TMP/there"
cp "$program" "$TMP/root/program"
unshare -m --propagation private sh -c "mount --bind $TMP/root $TMP/there && exec sleep 60" &
inside=$!
at_exit "kill $inside"
await test -e "/proc/$inside/root$TMP/there/program"
record -e "uprobe:pid:$inside:$TMP/there/program:weigh" -- "$TMP/root/program"
echo 1 >"$TMP/x.sample"
exactly 100 "program;.*;apples;weigh"

# What is misspelt is named, with what is like it; who would be harmed is not touched.
expect_exit 2 'weig: none of its [0-9]+ functions|is weig; near it: weigh' "$XPROF" record -a -e "uprobe:$program:weig"
expect_exit 2 'No such file' "$XPROF" record -a -e uprobe:/nowhere/x:y
expect_exit 2 'no-such-library: No such file' "$XPROF" record -a -e uprobe:no-such-library:y
expect_exit 2 'is chosen when a program starts' "$XPROF" record -a -e uprobe:libc.so.6:strlen
expect_exit 2 'expected uprobe:FILE:FUNCTION' "$XPROF" record -a -e uprobe:x
expect_exit 2 'no field arg7' "$XPROF" record -a -e "uprobe:$program:weigh" --filter 'arg7 == 1'
expect_exit 2 'no number of that name' "$XPROF" record -a -e "uretprobe:$program:weigh" --value arg1
if command -v go >/dev/null; then
    printf 'package main\nfunc main() {}\n' >"$TMP/x.go"
    go build -o "$TMP/gone" "$TMP/x.go"
    expect_exit 2 'a Go program, which would crash' "$XPROF" record -a -e "uretprobe:$TMP/gone:main.main"
fi
