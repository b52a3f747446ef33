#!/bin/bash
# Builds the page that draws one flame graph with Grafana's own component, and prints its folder.
#   e2e/grafana/page.sh [--find]
# Kept in the user's cache under a key of its sources (7 MB); two minutes and 700 MB of packages when it is not there.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${XDG_CACHE_HOME:-$HOME/.cache}/xprof/flamegraph-$(find "$here/page" -type f | LC_ALL=C sort | xargs cat | sha256sum | cut -c1-16)
if [ ! -e "$out/panel.js" ]; then
    [ "${1:-}" != --find ] || exit 1
    command -v npm >/dev/null || { echo "there is no npm" >&2 && exit 77; }
    mkdir -p "$out"
    exec 9>"$out.lock"
    flock 9
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    cp -r "$here/page/." "$work"
    cd "$work"
    for try in 1 2 3; do # a registry can fail for a moment
        if npm install --legacy-peer-deps --ignore-scripts --no-audit --no-fund >&2; then break; fi
        [ $try -lt 3 ] || exit 1
        sleep $((try * 5))
    done
    npx vite build >&2
    cp -r dist/. "$out"
fi
echo "$out"
