#!/bin/bash
# Prints a python3 that has some packages, made once in the user's cache.   e2e/venv.sh NAME PACKAGE==VERSION...
set -euo pipefail
# shellcheck source=e2e/once.sh
. "$(dirname "${BASH_SOURCE[0]}")/once.sh"

name=$1
shift
out=${XDG_CACHE_HOME:-$HOME/.cache}/xprof/$name-$(python3 -c 'import sys; print(*sys.version_info[:2], sep=".")')
fetch() { # PACKAGE...
    python3 -m venv "$out" && "$out/bin/pip" install -q --disable-pip-version-check "$@"
}
once "$out" fetch "$@"
echo "$out/bin/python3"
