#!/bin/bash
# Python: known chains of calls have exactly their frames and lines in place of the interpreter's loop, launched and attached
# to, in all versions that are installed: functions of all kinds, generators, coroutines, classes, callbacks of C, text that
# is executed, threads, and code that runs without the interpreter's lock.
# beside others
set -euo pipefail
. e2e/lib.sh
. e2e/python/lib.sh
need_root
need python3 go
language=python
. e2e/scripts/lib.sh

program=(e2e/python/chains_target.py 60)
CACHE=$TMP/cache

# It writes a map for profilers, for which it calls each function through generated code.
mapped() { # PYTHON
    local own=$TMP/$version.pid
    at_exit "rm -f /tmp/perf-\$(cat '$own').map"
    # shellcheck disable=SC2016
    launched "$version with a map" sh -c 'echo $$ >"$1"; shift; exec "$@"' - "$own" "$1" -X perf "${program[@]}"
}

find_pythons
for python in "${pythons[@]}"; do
    version=$(python_version "$python")
    record -- "$python" -c 'import asyncio, contextlib, hashlib, json' 2>/dev/null # so that unwind tables are there
    launched "$version" "$python" "${program[@]}"
    attached "$version" "$python" "${program[@]}"
    [ "${version#*.}" -lt 12 ] || mapped "$python"
done
