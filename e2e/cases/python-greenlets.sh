#!/bin/bash
# Greenlets (gevent) have stacks of their own, from where they begin: whoever switched to one first is no caller of it.
# Launched, attached, without names at first, and those that wait.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
python=/usr/bin/python3
"$python" -c 'import gevent' 2>/dev/null || skip "$python has no gevent"

cat >"$TMP/tasks.py" <<'END'
import sys, time
import gevent

def burn(n):
    x = 0
    for i in range(n):
        x += i * i % 7
    return x

def shallow(times):
    for _ in range(times):
        burn(20000)
        gevent.sleep(0)

def deep(n):
    return deep(n - 1) if n else burn(20000)

def digs(times):
    for _ in range(times):
        deep(5)
        gevent.sleep(0)

def starts(times): # greenlets from within a greenlet
    gevent.joinall([gevent.spawn(shallow, times), gevent.spawn(digs, times)])

end = time.time() + float(sys.argv[1])
while time.time() < end:
    gevent.joinall([gevent.spawn(f, 20) for f in (shallow, digs, starts)])
END
check() {
    awk '/;burn/ {
        n += $NF
        if (/^python3;\[greenlet\];([^;]*;)*(shallow|digs;deep;deep;deep;deep;deep;deep);burn/) right += $NF
    } END { printf "%.1f %% of what greenlets compute is in stacks of their own\n", 100 * right / n; exit right < 0.98 * n }' \
        "$TMP/x.collapsed" || { cut -c1-300 "$TMP/x.collapsed" && fail "stacks of greenlets"; }
}
"$XPROF" record -F 499 -o "$TMP/x.collapsed" -- "$python" "$TMP/tasks.py" 3 2>/dev/null
check
"$python" "$TMP/tasks.py" 20 &
pid=$!
at_exit "kill -KILL $pid 2>/dev/null"
sleep 1
"$XPROF" record -F 499 -p $pid -d 2s -o "$TMP/x.collapsed" 2>/dev/null
check
"$XPROF" record --raw -F 499 -p $pid -d 2s -o "$TMP/raw.pb.gz" 2>/dev/null
"$XPROF" symbolize "$TMP/raw.pb.gz" -o "$TMP/x.collapsed" 2>/dev/null
check

"$python" -c 'import gevent; gevent.joinall([gevent.spawn(gevent.sleep, 30)])' &
waits=$!
at_exit "kill -KILL $waits 2>/dev/null"
hub_waits() {
    "$XPROF" stack $waits >"$TMP/stack" 2>/dev/null
    grep -q ' Hub.run ' "$TMP/stack" || grep -qE '#[0-9]+ +run .*/gevent/hub.py' "$TMP/stack"
}
await hub_waits
grep . "$TMP/stack" | tail -n 1 | grep -q "\[greenlet\]" || { cat "$TMP/stack" && fail "the stack of the loop of gevent"; }
