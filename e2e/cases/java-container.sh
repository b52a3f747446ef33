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

start_container() { # TWO_HEX_DIGITS JAVA
    make_container "$(printf "$1%.0s" {1..32})"
    (contained unshare -m --propagation private -p -f --mount-proc bash "$TMP/inside.sh" "$TMP" "$2") \
        >"$TMP/$1" 2>&1 &
    await java_runs
    at_exit "kill -KILL $java_pid; wait $!"
}

java_runs() {
    while read -r java_pid; do
        [ "$(cat "/proc/$java_pid/comm")" != java ] || return 0
    done <"${groups[-1]}"
    return 1
}

check() { # FOLDER WHAT
    local first all with cut
    await has_function "$1" Chains.in5
    sleep 3
    first=$(compgen -G "$out/$1/*.pb.gz" | sort | head -n 2)
    # shellcheck disable=SC2086
    go tool pprof -raw -symbolize=none $first 2>/dev/null | grep -F ' Chains.in5 ' >/dev/null ||
        fail "$2: there is no Java in the first two intervals"
    read -r all _ with cut <<<"$(tally "$1" Chains.in5)"
    echo "$2: $all samples, $with of them in Chains.in5, $cut cut"
    is "$with" '>=' "0.8 * $all" || fail "$2: only $with of $all samples have the chain"
    is "$cut" '<=' "0.02 * $all" || fail "$2: $cut of $all stacks are cut"
}

for_each_java 17 25
start_container ab "${javas[0]}"
start_agent --host-processes off --rate 199 --max-rate 199 --max-cpu 100
start_container cd "${javas[-1]}"
check host/abababababab 'before the agent'
check host/cdcdcdcdcdcd 'after the agent'
[ "$(metric xprof_runtime_processes)" = 2 ] || fail "the agent knows $(metric xprof_runtime_processes) virtual machines, not 2"
is "$(metric xprof_runtime_frames_total 'outcome="ok"')" '>' 10 || fail "no frames are counted"
end_agent
if grep -i 'java\|hotspot' "$errors"; then fail "the agent has to say something about Java"; fi
