#!/bin/bash
# Code that a runtime made has the names that the runtime writes down: of node, the JDK and CPython, in a /tmp and a PID namespace of
# their own; with a jitdump, lines, too. What a container may put in the map's place does no harm.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need unshare node java javac go

inside() { # COMMAND: in namespaces of its own, $TMP/own being its /tmp
    record "${more[@]}" -- unshare --mount --pid --fork --mount-proc --propagation private \
        bash -c "mount --bind $TMP/own /tmp && cd /tmp && ${1:?} >/dev/null; :"
}
more=()
HZ=499
mkdir "$TMP/own" # will be seen as /tmp
cp e2e/jit/fib.js "$TMP/own"
javac -d "$TMP/own" e2e/jit/Spin.java
gcc -O2 e2e/jit/forger.c -o "$TMP/own/forger"

inside "node --perf-basic-prof fib.js"
expect_share 90 '(.*;)?work;(fib;)*fib' '(.*;)?work;.*'
expect_stack 'node;.*;node::Start.*;fib' "$profile" 200
if compgen -G "/tmp/perf-[12345].map" >/dev/null; then fail "the map was not written where it should be"; fi

more=(-o "$TMP/j.pb.gz")
inside "node --perf-prof fib.js"
expect_stack 'node;.*;node::Start.*;fib' "$profile" 200
go tool pprof -symbolize=none -top -lines "$TMP/j.pb.gz" 2>/dev/null >"$TMP/top"
grep -qE "fib /tmp/fib.js:[123]\$" "$TMP/top" || fail "no lines of fib: $(cat "$TMP/top")"
more=()

inside "java -XX:+UseSerialGC -XX:+PreserveFramePointer -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit Spin"
expect_stack '.*Spin.main;.*Spin.fib' "$profile" 200 # it is asked itself (docs/java.md), whatever it writes

# Files that are no maps, in the place of one.
forged() { # NAME: the forger, its first frame in anonymous memory being called so
    inside "exec ./forger 300"
    expect_stack ".*;$1" "$profile" 50
}
map=$TMP/own/perf-1.map
forged '\[anonymous\]'
echo '200000000 9 known' >"$map"
forged known
chown 12345 "$map" # of nobody whom it may concern
forged '\[anonymous\]'
rm "$map" && mkfifo "$map"
forged '\[anonymous\]'
rm "$map" && mkdir "$map"
forged '\[anonymous\]'
rmdir "$map"
echo '200000000 9 escaped' >"$TMP/outside"
ln -s "$TMP/outside" "$map"
forged '\[anonymous\]'
rm "$map"
echo '200000000 9 first' >"$map"
truncate -s 50G "$map"
forged '\[anonymous\]'
{ echo '200000000 9 whole' && printf '200000000 9 hal'; } >"$map"
forged whole

# Last, for it may have to be left out.
rm -f "$map"
if ! python=$(bash e2e/jit/python.sh 2>"$TMP/python"); then skip "no Python that writes maps: $(tail -n 1 "$TMP/python")"; fi
cp e2e/jit/fib.py "$TMP/own"
inside "$python -X perf fib.py"
expect_share 90 '(.*;)?work;.*;fib;.*;fib;.*' '.*;<module>;(.*;)?work;.*'
