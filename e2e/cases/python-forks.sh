#!/bin/bash
# Workers that are forked and end after 50 ms have their functions and names from the first sample on: their memory looks
# like their parent's, of which all is known.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need python3

cat >"$TMP/forks.py" <<'END'
import os
import time


def spin(seconds):
    end = time.time() + seconds
    while time.time() < end:
        for i in range(200):
            i * i


def worker():
    spin(0.05)
    os._exit(0)


def parent():
    spin(1)
    end = time.time() + 3
    while time.time() < end:
        if not os.fork():
            worker()
        os.wait()


parent()
END
record -F 199 -o "$TMP/x.collapsed" -- python3 "$TMP/forks.py"
# Below the loop of the interpreter, wherever it has been entered. The parent's own work is not counted.
awk '{ value = $NF } /;parent;spin/ { next } /;worker/ { named += value } /PyEval_EvalCode/ { all += value }
    END { printf "%.1f %% of the workers'"'"' samples have their functions\n", 100 * named / all; exit named < 0.85 * all }' \
    "$TMP/x.collapsed" || fail "workers without functions"
