#!/bin/bash
# An agent shows Node.js in containers, as another user, below a root that is read-only, within two intervals: of a process
# that runs when the agent starts, and of one that starts later and has workers, which come and go.
set -euo pipefail
. e2e/lib.sh
. e2e/node/lib.sh
need_root
need go unshare setpriv
. e2e/agent/lib.sh

find_nodes
INTERVAL=2s
cat >"$TMP/app.js" <<'END'
const worker = require('worker_threads');

function leaf(ms) {
    const end = Date.now() + ms;
    let n = 0;
    while (Date.now() < end)
        for (let i = 0; i < 1e5; i++)
            n = n * 31 + i | 0;
    return n;
}

function serve() {
    leaf(Number(process.argv[2]));
}

function again() {
    new worker.Worker(__filename, {argv: process.argv.slice(2)}).on('exit', again);
}

if (worker.isMainThread && process.argv[3] === 'workers')
    again();
else
    serve();
END

# In namespaces of its own: the program and node itself are where only it sees them. What it can write to is nothing.
cat >"$TMP/inside.sh" <<'END'
set -eu
own=/mnt
mount -t tmpfs tmpfs $own
cp "$1" $own/node
cp "$2/app.js" $own
mount -o remount,bind,ro $own
mount -o remount,bind,ro /
! touch /tmp/written 2>/dev/null
exec setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs $own/node $own/app.js "${@:3}"
END

start_inside ab "node*" "$TMP/inside.sh" "${nodes[0]}" "$TMP" 600000
start_agent --host-processes off --rate 199 --max-rate 199 --max-cpu 100
start_inside cd "node*" "$TMP/inside.sh" "${nodes[-1]}" "$TMP" 2000 workers
expect_inside host/abababababab 'before the agent' serve 90
expect_inside host/cdcdcdcdcdcd 'after the agent, in workers' serve 80
[ "$(metric xprof_runtime_processes)" -ge 2 ] || fail "the agent knows $(metric xprof_runtime_processes) processes with a runtime"
is "$(metric xprof_runtime_frames_total 'outcome="ok"')" '>' 3 || fail "no frames are counted"
end_agent
if grep -iE 'node|javascript|v8' "$errors"; then fail "the agent has to say something about Node.js"; fi
