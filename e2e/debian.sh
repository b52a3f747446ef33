#!/bin/bash
# Prints a folder with programs of another release of Debian, to be run by chroot, made once in the user's cache.
#   e2e/debian.sh SUITE PACKAGE...
set -euo pipefail
# shellcheck source=e2e/once.sh
. "$(dirname "${BASH_SOURCE[0]}")/once.sh"

suite=$1
shift
out=${XDG_CACHE_HOME:-$HOME/.cache}/xprof/debian-$suite-$(printf '%s\n' "$@" | sha256sum | cut -c1-12)
fetch() { # PACKAGE,...
    local folder
    # A mirror may be some weeks behind, as that of sid is; what it has is signed all the same.
    rm -rf "${out:?}/root" && mmdebstrap --quiet --variant=extract --aptopt='Acquire::Check-Valid-Until "false"' \
        --include="$1" "$suite" "$out/root" || return 1
    for folder in bin sbin lib lib64; do # packages do not have these any more: something that installs them makes them
        [ -e "$out/root/$folder" ] || ln -s "usr/$folder" "$out/root/$folder" || return 1
    done
}
once "$out" fetch "$(IFS=, && echo "$*")"
echo "$out/root"
