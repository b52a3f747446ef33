#!/bin/bash
# An agent shows Java in containers, as another user, below a root that is read-only, within two intervals: of a process that
# runs when the agent starts, and of one that starts later.
set -euo pipefail
. e2e/lib.sh
need_root
need go unshare setpriv
. e2e/agent/lib.sh
. e2e/java/lib.sh

build_java Chains
INTERVAL=2s

# In namespaces of its own: the classes are where only it sees them. What it can write to is nothing.
cat >"$TMP/inside.sh" <<'END'
set -eu
mount -t tmpfs tmpfs /mnt
cp "$1"/Chains*.class /mnt
mount -o remount,bind,ro /mnt
mount -o remount,bind,ro /
! touch /tmp/written 2>/dev/null
exec setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs "$2" -cp /mnt Chains 600000 c03
END

for_each_java 17 25
start_inside ab java "$TMP/inside.sh" "$TMP" "${javas[0]}"
start_agent --host-processes off --rate 199 --max-rate 199 --max-cpu 100
start_inside cd java "$TMP/inside.sh" "$TMP" "${javas[-1]}"
expect_inside host/abababababab 'before the agent' Chains.in5 80
expect_inside host/cdcdcdcdcdcd 'after the agent' Chains.in5 80
[ "$(metric xprof_runtime_processes)" = 2 ] || fail "the agent knows $(metric xprof_runtime_processes) virtual machines, not 2"
is "$(metric xprof_runtime_frames_total 'outcome="ok"')" '>' 10 || fail "no frames are counted"
end_agent
if grep -i 'java\|hotspot' "$errors"; then fail "the agent has to say something about Java"; fi
