#!/bin/bash
# xprof stack: every thread of a process, running or waiting, of a stripped program in a root of its own; the same functions
# as gdb finds when it stops it; and a process that is not there, or not a process.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need jq gdb chroot objcopy strip addr2line node python3 unshare

root=$TMP/root
OUT=whole build_target stacks -g -pthread -static -Wl,--build-id=sha1
id=$(readelf -n "$TMP/whole" | sed -n 's/.*Build ID: //p')
mkdir -p "$root/bin" "$root/usr/lib/debug/.build-id/${id:0:2}"
strip -o "$root/bin/stacks" "$TMP/whole"
objcopy --only-keep-debug "$TMP/whole" "$root/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug"

start() { # COMMAND...: in the background; its number is in $pid
    : >"$TMP/out" # what an earlier one said is gone before this one begins
    "$@" >"$TMP/out" 2>&1 &
    pid=$!
    at_exit "kill -9 $pid"
    await grep -q . "$TMP/out"
}
stack() { # OPTION...
    "$XPROF" stack --no-cache "$@" 2>"$errors"
}

start chroot "$root" /bin/stacks 20
stack --json "$pid" >"$TMP/json" || fail "xprof stack failed"
check() { # JQ_EXPRESSION
    jq -e "$1" "$TMP/json" >/dev/null || fail "not so: $1: $(head -c 2000 "$TMP/json")"
}
check '.threads | length == 23'
check 'all(.threads[]; .complete)'
check '[.threads[] | select(any(.frames[]; .function == "waiter(void*)"))] | length == 20'
plain() { # the functions of threads in user space, without arguments: "TID NAME", leaf first
    jq -r '.threads | sort_by(.tid)[] | .tid as $t | .frames[] | select(.kind == "native") |
        "\($t) \(.function | sub("\\(.*"; ""))"' "$TMP/json"
}
for function in innermost between around; do
    [ "$(plain | grep -c " demo::$function\$")" -ge 21 ] || fail "$function: $(plain)"
done
# It may have been put off its CPU just then.
check '.threads[] | select(.name == "burner") | .state == "R" and
    ([.frames[] | select(.kind == "native")][0].function == "demo::burn()")'
check '[.threads[] | select(.name == "napper")] | length == 1 and all(.[].frames[]; .function != "demo::burn()")'
check 'all(.threads[].frames[] | select(.function | startswith("demo::innermost"));
    .inlined and (.file | endswith("stacks.cpp")) and .line == 15)'
check 'all(.threads[] | select(.state == "S"); any(.frames[]; .kind == "kernel" and .function == "do_syscall_64"))'

# Addresses are the file's, and those of calls, not what comes behind them; an inlined call has its caller's.
jq -r '.threads[] | [.frames[] | select(.kind == "native")] | group_by(.address)[] | .[0] | "\(.address) \(.line // 0)"' \
    "$TMP/json" | sort -u | grep -v ' 0$' >"$TMP/ours"
while read -r address _; do
    echo "$address $(addr2line -e "$TMP/whole" "$address" | sed -E 's/.*:([0-9]+).*/\1/')"
done <"$TMP/ours" >"$TMP/theirs"
diff "$TMP/ours" "$TMP/theirs" >"$TMP/diff" || fail "addr2line has other lines: $(cat "$TMP/diff")"
[ "$(wc -l <"$TMP/ours")" -gt 5 ] || fail "there are no addresses: $(cat "$TMP/ours")"

# A thread alone, as text.
tid=$(jq -r '.threads[] | select(.name == "burner").tid' "$TMP/json")
stack "$tid" >"$TMP/one"
[ "$(grep -c '^thread' "$TMP/one")" = 1 ] || fail "one thread was asked for: $(cat "$TMP/one")"
grep -qE "^thread $tid \"burner\" (running|ready to run)" "$TMP/one" || fail "$(cat "$TMP/one")"
grep -qE '^  #[0-9]+ +demo::burn\(\)  .*stacks.cpp:[0-9]+  stacks$' "$TMP/one" || fail "$(cat "$TMP/one")"
[[ $(stack --short-names "$tid") = *' demo::burn  '* ]] || fail "--short-names"
[ "$(stack --all-threads "$tid" | grep -c '^thread')" = 23 ] || fail "--all-threads"
[ "$(stack -n 3 --interval 10ms "$tid" | grep -c '^thread')" = 3 ] || fail "-n 3"

# gdb, on those that wait: the same functions, inlined ones too.
gdb -p "$pid" -batch -ex "file $TMP/whole" -ex 'set print frame-arguments none' -ex 'set backtrace past-main on' -ex 'thread apply all bt' >"$TMP/gdb" 2>&1 || true
gdb_stacks() { # THREADS: their functions, leaf first
    sed 's|_impl (| (|' "$TMP/gdb" | awk '/^Thread / { tid = $0; sub(/.*LWP /, "", tid); sub(/\).*/, "", tid) }
        /^#[0-9]/ { name = $0; sub(/^#[0-9]+ +(0x[0-9a-f]+ in )?/, "", name); sub(/ \(.*/, "", name); sub(/\(.*/, "", name)
            print tid, name }' | sort -s -n -k1,1
}
moving=$(jq -r '[.threads[] | select(.name != "stacks").tid | tostring] | join("|")' "$TMP/json")
diff <(gdb_stacks | grep -vE "^($moving) ") <(plain | grep -vE "^($moving) ") >"$TMP/diff" ||
    fail "gdb says something else: $(head -n 10 "$TMP/diff")"

# JIT code, by the runtime's own map.
sed 's/+ 1500/+ 60000/; s/^console.log/console.log("x");&/' e2e/jit/fib.js >"$TMP/fib.js"
start node --perf-basic-prof --logfile="$TMP/v8.log" --no-logfile-per-isolate "$TMP/fib.js"
at_exit "rm -f /tmp/perf-$pid.map"
fib_runs() { stack --json "$pid" | jq -e 'any(.threads[].frames[]; .function == "fib" and .kind == "jit")'; }
await fib_runs

# The first thread has ended, the others live on: its number is a zombie's, without memory.
start python3 -c 'import ctypes, threading, time
threading.Thread(target=time.sleep, args=(300,), daemon=True).start()
print("ready", flush=True)
ctypes.CDLL(None).syscall(60, 0)'
await grep -q '^State:.Z' "/proc/$pid/status"
stack --json "$pid" >"$TMP/json" || fail "xprof stack failed without a first thread"
check '[.threads[] | select(.state == "Z")] | length == 1 and .[0].end == "no-memory-map"'
check '[.threads[] | select(.state == "S" and .complete and (.frames | length > 5))] | length == 1'

refused() { # STATUS TEXT ARGUMENT...
    local status=$1 text=$2 rc=0
    shift 2
    stack "$@" >"$TMP/out" || rc=$?
    if [ $rc != "$status" ] || [ "$(wc -l <"$errors")" != 1 ] || ! grep -q "$text" "$errors"; then
        fail "$*: $rc, $(cat "$errors")"
    fi
}
refused 2 'no process given'
refused 2 'not a process ID' abc
refused 2 'one process' 1 2
refused 1 'there is no process' 4194000
unshare -pf --mount-proc "$XPROF" stack --no-cache 1 2>"$errors" && fail "a number of another PID namespace"
grep -q 'PID namespace' "$errors" || fail "$(cat "$errors")"
if "$XPROF" stack --no-cache "$pid" >/dev/full 2>"$errors"; then fail "nothing was written, and it did not say so"; fi
grep -q 'standard output: No space' "$errors" || fail "$(cat "$errors")"
[[ $(stack 2) = *'kthreadd'*'[kernel]'* ]] || fail "a thread of the kernel has a stack"
