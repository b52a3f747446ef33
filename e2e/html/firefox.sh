#!/bin/bash
# Prints a command that reads profiles as the Firefox Profiler does, with its own importer: a node and its script, fetched
# once into the user's cache. Exit status 77: there is no npm.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=e2e/once.sh
. "$here/../once.sh"

version=0.10.0
out=${XDG_CACHE_HOME:-$HOME/.cache}/xprof/firefox-$version
fetch() {
    command -v npm >/dev/null || exit 77
    (cd "$out" && npm pack --silent "@firefox-devtools/profiler-cli@$version" && tar -xzf ./*.tgz && rm ./*.tgz)
}
node=$("$here/../node/get.sh" 24.21.0)
once "$out" fetch
echo "$node $out/package/dist/profiler-cli.js"
