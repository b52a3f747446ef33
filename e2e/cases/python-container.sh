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

start_container() { # TWO_HEX_DIGITS ARGUMENT...
    make_container "$(printf "$1%.0s" {1..32})"
    (contained unshare -m --propagation private -p -f --mount-proc bash "$TMP/inside.sh" "$TMP" "${@:2}") \
        >"$TMP/$1" 2>&1 &
    await python_runs
    at_exit "kill -KILL $python_pid; wait $!"
}

python_runs() {
    while read -r python_pid; do
        [[ "$(cat "/proc/$python_pid/comm")" != python* ]] || return 0
    done <"${groups[-1]}"
    return 1
}

check() { # FOLDER WHAT PERCENT
    local first all with cut
    await has_function "$1" serve
    sleep 3
    first=$(compgen -G "$out/$1/*.pb.gz" | sort | head -n 2)
    # shellcheck disable=SC2086
    go tool pprof -raw -symbolize=none $first 2>/dev/null | grep -F ' serve ' >/dev/null ||
        fail "$2: there is no Python in the first two intervals"
    read -r all _ with cut <<<"$(tally "$1" serve)"
    echo "$2: $all samples, $with of them in serve, $cut cut"
    is "$with" '>=' "$3 * $all / 100" || fail "$2: only $with of $all samples have the chain"
    is "$cut" '<=' "0.02 * $all" || fail "$2: $cut of $all stacks are cut"
}

start_container ab 600
start_agent --host-processes off --rate 199 --max-rate 199 --max-cpu 100
start_container cd 2 fork
check host/abababababab 'before the agent' 90
check host/cdcdcdcdcdcd 'after the agent, in workers' 80
[ "$(metric xprof_runtime_processes)" -ge 2 ] || fail "the agent knows $(metric xprof_runtime_processes) processes with a runtime"
is "$(metric xprof_runtime_frames_total 'outcome="ok"')" '>' 3 || fail "no frames are counted"
end_agent
if grep -i python "$errors"; then fail "the agent has to say something about Python"; fi
