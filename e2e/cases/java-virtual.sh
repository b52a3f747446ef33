#!/bin/bash
# Java: stacks of virtual threads go on in the thread that carries them, also if their callers are frozen in the heap, and
# if xprof knew the process before it had virtual threads.
# beside others
set -euo pipefail
. e2e/lib.sh
. e2e/java/lib.sh
need_root
need python3

for_each_java 21 25
javac=${javas[-1]%java}javac
[ -x "$javac" ] || skip "there is no javac that knows virtual threads"
PATH=${javac%/javac}:$PATH RELEASE=21 build_java Virtual

check() { # WHAT
    echo -n "$1: "
    python3 e2e/java/virtual.py "$TMP/x.pb.gz" || fail "$1: stacks of virtual threads are wrong"
}

CACHE=$TMP/cache
two=-Djdk.virtualThreadScheduler.parallelism=2
for java in "${javas[@]}"; do
    version=$(version_of "$java")
    record -- "$java" -version 2>/dev/null # so that the unwind tables of its libraries are there
    for flags in -XX:+TieredCompilation -Xint; do
        record -o "$TMP/x.pb.gz" -- "$java" $two $flags -cp "$TMP" Virtual 1000 >/dev/null
        check "$version $flags launched"
    done
    : >"$TMP/out" # what an earlier one said is gone before this one begins
    "$java" $two -cp "$TMP" Virtual 3000 >"$TMP/out" &
    pid=$!
    at_exit "kill -KILL $pid"
    await grep -q ready "$TMP/out"
    record -d 2s -o "$TMP/x.pb.gz" -p $pid
    check "$version attached"
    wait $pid
done
