#!/bin/bash
# Prints a python3 that can write a perf map (3.12 or later, which no Debian of today has), made once in the user's cache out
# of a Go module that carries one.
set -euo pipefail
# shellcheck source=e2e/once.sh
. "$(dirname "${BASH_SOURCE[0]}")/../once.sh"

version=3.14.6-20260610-1
module=github.com/kluctl/go-embed-python
out=${XDG_CACHE_HOME:-$HOME/.cache}/xprof/python-$version
fetch() {
    local from
    from=$(cd "$out" && go mod download -json "$module@v0.0.0-$version" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p') || return 1
    from=$from/python/internal/data/linux-amd64
    rm -rf "${out:?}/bin" "${out:?}/lib" && cp -r "$from/bin" "$from/lib" "$out/" && chmod -R u+w "$out/bin" "$out/lib" &&
        find "$out/bin" "$out/lib" -name '*.gz' -exec gunzip {} + && chmod +x "$out"/bin/*
}
once "$out" fetch
set -- "$out"/bin/python3.[0-9][0-9]
"$1" -c 'import sys; sys.exit(sys.version_info < (3, 12))'
echo "$1"
