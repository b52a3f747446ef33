#!/bin/bash
# Any tracepoint and any system call: counts and sums of fields are exact, conditions on fields hold, stacks are whole; of
# a program that is launched, of one that runs already, of the machine; and what is misspelt is named.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root

PROGRAM=xp_on_tracepoint
. e2e/probes/lib.sh

for way in launched attached; do
    $way -e syscall:openat
    exactly 300 "$root;open_there;(__libc_)?open(64)?"
    exactly 200 "$root;open_missing;(__libc_)?open(64)?"
    $way -e syscall:openat --filter 'filename == "/etc/no-such*" && pid != 1 && dfd == -100' # an int, in 8 bytes
    exactly 200 "$root;open_missing"
    exactly 200 probes
    $way -e tracepoint:syscalls:sys_exit_openat --filter 'ret == -2 && comm == "probes" || ret < -100000'
    exactly 200 "$root;open_missing"
    expect_no_stack "$root;open_there"
    $way -e syscall:write --value count:bytes --filter 'count > 10 && count & 0xffff'
    exactly 252500 "$root;write_much;(__GI___)?(__libc_)?write"
    $way -e tracepoint:raw_syscalls:sys_enter --filter "id == 28"
    exactly 40 "$root;advise"
    echo "$way: counts, sums and conditions are exact"
done

# One in N, for all of them.
launched -e syscall:openat --period 5
n=$(samples_of open_there)
is "($n - 300) ^ 2" '<=' "150 ^ 2" || fail "one in five: $n of 300"
is "$n % 5" == 0 || fail "one in five stands for five: $n"

# The kernel's own: who executes has its new name, and what the kernel did is in the stack. Two at once.
record -e tracepoint:sched:sched_process_exec,tracepoint:sched:sched_process_exit -o "$TMP/x.pb.gz" -- sh -c '/bin/true; /bin/true'
expect_stack 'true;.*;(__x64_sys_)?execve_\[k\];.*' "$profile"
go tool pprof -symbolize=none -sample_index=sched_sched_process_exit -top "$TMP/x.pb.gz" >"$TMP/top" 2>/dev/null
grep -q 'do_exit' "$TMP/top" || { cat "$TMP/top" && fail "no exits"; }

# Whoever it is. The page with the name is read with the first call.
attached -a -d 4s -e syscall:openat --filter 'filename == "/etc/hostname" && comm == "probes"'
exactly $((300 - $(value .lost.field))) "$root;open_there"
expect .lost.field '<=' 1

# What is misspelt is named, with what is like it.
expect_exit 2 'syscall:opnat: this kernel has no such system call; near it:.* openat' "$XPROF" record -a -e syscall:opnat
expect_exit 2 'near it:.* sched:sched_switch' "$XPROF" record -a -e tracepoint:sched:sched_swich
expect_exit 2 'expected tracepoint:CATEGORY:NAME' "$XPROF" record -a -e tracepoint:sched
expect_exit 2 "no field filname; fields: .*filename" "$XPROF" record -a -e syscall:openat --filter 'filname == "x"'
expect_exit 2 'has no number of that name' "$XPROF" record -a -e syscall:openat --value filename
expect_exit 2 'the unit is one of' "$XPROF" record -a -e syscall:write --value count:pounds
expect_exit 2 'give -e tracepoint' "$XPROF" record -a -e cpu --filter 'x == 1'
expect_exit 1 'no tracepoint and no system call' "$XPROF" list no-such-thing

# What there is.
"$XPROF" list openat >"$TMP/list"
grep -qx 'syscall:openat .*"filename" flags mode' "$TMP/list" || { cat "$TMP/list" && fail "openat and its fields"; }
"$XPROF" list --json 'tracepoint:sched:sched_process_*' | jq -e 'map(.name) | index("tracepoint:sched:sched_process_exec")' >"$TMP/out" ||
    fail "the list as JSON"
