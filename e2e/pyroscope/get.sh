#!/bin/bash
# The Pyroscope server of the end-to-end tests, built once from Go modules: server/go.mod pins it.
#   e2e/pyroscope/get.sh [--find]     prints the binary's path; --find only looks, exit 1 when it is not there
# It is kept in the user's cache under a key of all that it is made from. Cold this takes six minutes of a core and
# 2 GB of memory, warm nothing.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/server
command -v go >/dev/null || { echo "there is no go" >&2 && exit 1; }
key=$({
    go version
    cat "$here"/go.mod "$here"/go.sum
} | sha256sum | cut -c1-16)
out=${XDG_CACHE_HOME:-$HOME/.cache}/xprof/pyroscope-$key

if [ -x "$out/pyroscope" ]; then
    echo "$out/pyroscope"
    exit 0
fi
[ "${1:-}" != --find ] || exit 1

mkdir -p "$out"
exec 9>"$out/lock"
flock 9
[ ! -x "$out/pyroscope" ] || { echo "$out/pyroscope" && exit 0; }

# Not optimised: compiling takes two thirds of the time, and the tests ask little of it.
build() {
    (cd "$here" && GOTOOLCHAIN=local GOGC=400 nice go build -p "${JOBS:-2}" -mod=readonly -buildvcs=false -trimpath \
        -gcflags='all=-N -l' -ldflags='-s -w' -o "$out/new" github.com/grafana/pyroscope/cmd/pyroscope) >&2
}
for try in 1 2 3; do # a registry can fail for a moment
    if build; then break; fi
    [ $try -lt 3 ] || exit 1
    sleep $((try * 5))
done
mv "$out/new" "$out/pyroscope"
echo "$out/pyroscope"
