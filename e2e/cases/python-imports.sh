#!/bin/bash
# Programs that import many modules: the bodies of modules and classes, which run once and are freed then, have their names
# and files, in all versions of Python that are installed.
# beside others
set -euo pipefail
. e2e/lib.sh
. e2e/pprof.sh
. e2e/python/lib.sh
need_root
need python3 go

cat >"$TMP/child.py" <<'END'
import asyncio, concurrent.futures, ctypes, decimal, email.message, http.client, json, logging.config, pydoc, time, unittest
import urllib.request, xml.dom.minidom

end = time.time() + 0.2
while time.time() < end:
    pass
END
cat >"$TMP/imports.py" <<'END'
import subprocess
import sys

for i in range(6):
    subprocess.run([sys.executable, "-I", sys.argv[1]], check=True)
END

# GONE NAMED, as time: of stacks with a frame of Python that has no name; of others with a body of a module of the library.
times() {
    profile_rows "$TMP/x.pb.gz" | awk -F '\t' 'NR > 1 { split($1, v, " "); n = v[2] }
        NR > 1 && /\[python(: gone)?\]/ { gone += n; next }
        NR > 1 && /<module> [^;]*lib[^;]*\.py/ { named += n }
        END { printf "%d %d\n", gone, named }'
}

find_pythons
for python in "${pythons[@]}"; do
    version=$(python_version "$python")
    record -- "$python" -c 'import asyncio' # so that unwind tables are there
    record -F 499 -o "$TMP/x.pb.gz" -- "$python" "$TMP/imports.py" "$TMP/child.py"
    read -r gone named <<<"$(times)"
    echo "$version: $gone ns with frames that have no name, $named in bodies of modules"
    is "$named" '>' 30e6 || fail "$version: bodies of modules are missing"
    is "$gone" '<=' "0.15 * $named" || fail "$version: too many frames have no name"
done
