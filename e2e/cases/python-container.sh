#!/bin/bash
# An agent shows Python in containers, as another user, below a root that is read-only, within two intervals: of a process
# that runs when the agent starts, and of one that starts later and has workers, which are forked all the time.
set -euo pipefail
. e2e/lib.sh
need_root
need go unshare setpriv
. e2e/agent/lib.sh

[ -x /usr/bin/python3 ] || skip "there is no /usr/bin/python3"
INTERVAL=2s
cat >"$TMP/app.py" <<'END'
import os, sys, time

def leaf(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        sum(range(100))

def serve():
    leaf(float(sys.argv[1]))

def main():
    if sys.argv[2:] != ["fork"]:
        return serve()
    while True:
        pid = os.fork()
        if not pid:
            serve()
            os._exit(0)
        os.waitpid(pid, 0)

main()
END

# In namespaces of its own: the program is where only it sees it. What it can write to is nothing.
cat >"$TMP/inside.sh" <<'END'
set -eu
own=/mnt
mount -t tmpfs tmpfs $own
cp "$1/app.py" $own
mount -o remount,bind,ro $own
mount -o remount,bind,ro /
! touch /tmp/written 2>/dev/null
exec setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs /usr/bin/python3 $own/app.py "${@:2}"
END

start_inside ab "python*" "$TMP/inside.sh" "$TMP" 600
start_agent --host-processes off --rate 199 --max-rate 199 --max-cpu 100
start_inside cd "python*" "$TMP/inside.sh" "$TMP" 2 fork
expect_inside host/abababababab 'before the agent' serve 90
expect_inside host/cdcdcdcdcdcd 'after the agent, in workers' serve 80
[ "$(metric xprof_runtime_processes)" -ge 2 ] || fail "the agent knows $(metric xprof_runtime_processes) processes with a runtime"
is "$(metric xprof_runtime_frames_total 'outcome="ok"')" '>' 3 || fail "no frames are counted"
end_agent
if grep -i python "$errors"; then fail "the agent has to say something about Python"; fi
