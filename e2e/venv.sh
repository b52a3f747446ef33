#!/bin/bash
# Prints a python3 that has some packages, made once in the user's cache.   e2e/venv.sh NAME PACKAGE==VERSION...
set -euo pipefail

name=$1
shift
out=${XDG_CACHE_HOME:-$HOME/.cache}/xprof/$name-$(python3 -c 'import sys; print(*sys.version_info[:2], sep=".")')
if [ ! -e "$out/complete" ]; then
    mkdir -p "$out"
    exec 9>"$out.lock"
    flock 9
    [ -e "$out/complete" ] || {
        python3 -m venv "$out"
        for try in 1 2 3; do # a registry can fail for a moment
            if "$out/bin/pip" install -q --disable-pip-version-check "$@"; then break; fi
            [ $try -lt 3 ] || exit 1
            sleep $((try * 2))
        done
        touch "$out/complete"
    } >&2
fi
echo "$out/bin/python3"
