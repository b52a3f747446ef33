#!/bin/bash
# Wrong frees are found with the stacks of allocation, first and second free, whatever becomes of the program then; of
# commands, and of a process that runs already. What is right is never called wrong: of the same program, of others, of
# other allocators, launched and attached.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need go
need_kernel 6.6 "uprobe_multi links"
build_target badfrees -O1 -pthread -fno-builtin -fno-optimize-sibling-calls -w
OUT=badfrees-static build_target badfrees -O1 -pthread -fno-builtin -fno-optimize-sibling-calls -w -static
build_target heap -pthread

twice() { # N [HOW]: freed before, and again
    expect_stack ".*;wrong_$1;(.*;)?${2:-free};\[double free\];\[freed before by\];.*;first_$1;(.*;)?${3:-free};\[allocated by\];.*;alloc_$1;${4:-malloc}"
}
all() { # FILE: number of wrong frees
    awk '{ n += $NF } END { print n + 0 }' "$1"
}
right() { # WHAT OPTION...: is not called wrong
    local what=$1
    shift
    record -e badfree "$@" >/dev/null || true
    [ "$(all "$profile")" = 0 ] || fail "$what: called wrong"
    echo "$what: nothing wrong"
}
right_attached() { # WHAT COMMAND...
    local what=$1 pid
    shift
    "$@" >/dev/null 2>&1 &
    pid=$!
    sleep 0.3
    right "$what, attached" -p $pid -d 4s
    kill $pid 2>/dev/null || true
    wait $pid 2>/dev/null || true
}

for program in badfrees badfrees-static; do
    record -e badfree -o "$TMP/x.pb.gz" -- sh -c "for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14; do $TMP/$program \$n; done; true" >/dev/null
    twice 1
    twice 2 free free calloc
    twice 3
    twice 4 free realloc
    twice 5 realloc
    twice 7 free free memalign
    twice 14 free realloc
    expect_stack '.*;wrong_8;free;\[free inside a block\];\[allocated by\];.*;alloc_8;malloc'
    expect_stack '.*;wrong_9;free;\[free inside a block\];\[allocated by\];.*;alloc_9;malloc'
    expect_stack '.*;wrong_10;free;\[free of a stack\]'
    expect_stack '.*;wrong_11;free;\[free of code or constants\]'
    expect_stack '.*;wrong_12;free;\[free of a stack\]'
    found=12
    if [ $program = badfrees ]; then # elsewhere, these may be the allocator's own
        twice 6
        expect_stack '.*;wrong_13;free;\[free of a variable\]'
        found=14
    fi
    [ "$(all "$profile")" = $found ] || fail "$(all "$profile") wrong frees, not $found"
    GOTOOLCHAIN=local go tool pprof -symbolize=none -raw "$TMP/x.pb.gz" 2>/dev/null | grep -q '^badfree/count' ||
        fail "pprof has no type badfree"
done
for n in 1 4 9 12; do
    "$TMP/badfrees" $n 3 >/dev/null 2>&1 &
    pid=$!
    sleep 0.5
    record -e badfree -p $pid -d 10s
    wait $pid 2>/dev/null || true
    [ "$(all "$profile")" = 1 ] || fail "attached: fault $n was not found"
    expect_stack ".*;wrong_$n;.*"
done
echo "faults: found"

right "the same program" -- "$TMP/badfrees" 0
right "the same program, static" -- "$TMP/badfrees-static" 0
right_attached "the same program" "$TMP/badfrees" 0 1
right "a program with threads" -- "$TMP/heap" 2000
right_attached "a program with threads" "$TMP/heap" 6000 2
for library in libjemalloc.so.2 libtcmalloc.so.4 libtcmalloc_minimal.so.4 libmimalloc.so.2; do
    path=$(ldconfig -p | awk -v name="$library" '$1 == name && !n++ { print $NF }')
    [ -z "$path" ] || right "$library" -- env LD_PRELOAD="$path" "$TMP/heap" 2000
done
if command -v musl-gcc >/dev/null; then
    CC=musl-gcc OUT=heap-musl build_target heap -pthread
    right "musl" -- "$TMP/heap-musl" 2000
fi
cat >"$TMP/work.py" <<'END'
import json, os, re, subprocess, threading, zlib
def work():
    for i in range(300):
        json.loads(json.dumps([{"a": list(range(50)), "b": "x" * i}] * 20))
        zlib.compress(os.urandom(20000))
        re.findall("a+b*", "aab" * 500)
threads = [threading.Thread(target=work) for _ in range(4)]
[t.start() for t in threads]
subprocess.run(["true"])
if os.fork() == 0:
    work()
    os._exit(0)
os.wait()
[t.join() for t in threads]
END
if command -v python3 >/dev/null; then
    right python3 -- python3 "$TMP/work.py"
    right_attached python3 sh -c "while :; do python3 '$TMP/work.py'; done"
fi
right gcc -- gcc -O2 -o "$TMP/again" e2e/targets/heap.c -pthread
right "g++" -- g++ -O2 -c -o "$TMP/again.o" e2e/targets/exceptions.cpp
# shellcheck disable=SC2016 # of the inner shell
right bash -- bash -c 'for i in 1 2 3 4 5 6 7 8 9; do x=$(ls /usr/bin | sort -R | head -n $i); done'
if command -v git >/dev/null; then
    right git -- sh -c "git init -q '$TMP/repo' && cd '$TMP/repo' && cp /etc/passwd . && git add . &&
        git -c user.name=a -c user.email=a@b commit -qm a && git log -p && git gc -q"
fi
# shellcheck disable=SC2016 # of Perl
if command -v perl >/dev/null; then right perl -- perl -e 'for (1..20000) { push @a, "x" x $_ if $_ % 7; %h = (%h, $_ => [1..9]) if $_ < 200 }'; fi
if command -v sqlite3 >/dev/null; then
    right sqlite3 -- sqlite3 :memory: 'create table t(a,b); with recursive c(x) as (select 1 union all select x+1 from c where x<20000) insert into t select x, hex(x) from c; select count(*) from t group by b order by 1 limit 3'
fi
if command -v curl >/dev/null; then right curl -- curl -s "file:///etc/passwd"; fi
