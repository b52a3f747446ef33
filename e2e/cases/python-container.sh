#!/bin/bash
# An agent shows Python in containers, as another user, below a root that is read-only, within two intervals: of a process
# that runs when the agent starts, and of one that starts later and has workers, which are forked all the time.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need go unshare setpriv
. e2e/agent/lib.sh
language=python
. e2e/scripts/lib.sh

cat >"$TMP/app" <<'END'
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

shows_scripts_inside serve 90 80 /usr/bin/python3
