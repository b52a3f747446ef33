#!/bin/bash
# An agent shows Node.js in containers, as another user, below a root that is read-only, within two intervals: of a process
# that runs when the agent starts, and of one that starts later and has workers, which come and go.
# beside others
set -euo pipefail
. e2e/lib.sh
. e2e/node/lib.sh
need_root
need go unshare setpriv
. e2e/agent/lib.sh

find_nodes
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

# The program and node itself are where only the container sees them.
before=("${nodes[0]}" "$TMP/app.js" -- ./node app.js 600000)
after=("${nodes[-1]}" "$TMP/app.js" -- ./node app.js 2000 workers)
shows_inside "node*" serve 90 80 'after the agent, in workers'
ends_silent '>=' 2 3 'node|javascript|v8'
