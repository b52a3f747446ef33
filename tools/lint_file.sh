#!/bin/bash
# One C file: gcc and clang without a warning, clang-tidy's short list. Nothing is done again until the file, a header
# that it includes, or a setting is newer than the last clean run.   lint_file.sh STAMPS FILE
set -euo pipefail

stamps=$1 file=$2
stamp=$stamps/${file//\//_}.ok
flags=(-D_GNU_SOURCE '-DXPROF_VERSION="lint"' -Iagent -I. "-I${B:-build}" -std=gnu11
    -Wall -Wextra -Werror -Wshadow -Wvla -Wstrict-prototypes -Wmissing-prototypes -Wno-unused-parameter)

fresh() {
    local dep deps
    [ -f "$stamp" ] || return 1
    mapfile -t deps <"$stamp"
    for dep in "${deps[@]}"; do
        [ "$dep" -ot "$stamp" ] || return 1
    done
}

# gcc writes what it read to $stamp.d; clang-tidy brings clang's warnings along.
check() {
    local status=0
    gcc "${flags[@]}" -fsyntax-only -MMD -MF "$stamp.d" "$file" 2>&1 || status=1
    clang-tidy -quiet "$file" -- "${flags[@]}" -Wno-gnu-variable-sized-type-not-at-end 2>/dev/null || status=1
    return $status
}

fresh && exit 0
mkdir -p "$stamps"
if ! check >"$stamp.log"; then
    sed "s#$PWD/##" "$stamp.log"
    exit 1
fi
{
    sed -e 's/^[^:]*://' -e 's/\\$//' "$stamp.d" | tr ' ' '\n' | sed '/^$/d'
    if [ -f .clang-tidy ]; then echo .clang-tidy; fi
} >"$stamp"
