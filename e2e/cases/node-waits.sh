#!/bin/bash
# Node.js: waits have the functions that wait, also of a worker that slept before the recording began.
set -euo pipefail
. e2e/lib.sh
. e2e/node/lib.sh
need_root
need bpftool jq

seconds() { # REGEX LEAST MOST
    expect_seconds "$version" "$@"
}

CACHE=$TMP/cache
mkfifo "$TMP/fifo"
find_nodes
for node in "${nodes[@]}"; do
    version=$(node_version "$node")
    record -- "$node" -e 0 2>/dev/null # so that unwind tables are there
    record_waiting offcpu 1 "$node" e2e/node/waits.js "$TMP/fifo" # meanwhile, what is to be known of it is read
    seconds '.*outerLong;(.*;)?longSleep;.*' 1 4.2
    seconds '.*waits;(.*;)?shortSleep;.*' 0.45 2
    seconds '.*waits;(.*;)?runShell;(.*;)?execSync;(.*;)?spawnSync;.*' 0.45 2
    seconds '.*waits;(.*;)?runProgram;(.*;)?spawnSync;.*' 0.45 2
    seconds '.*waits;(.*;)?readPipe;(.*;)?readSync;.*' 0.3 2
    seconds '.*\[javascript(: gone)?\];.*' 0 0.05
done
