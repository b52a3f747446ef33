#!/bin/bash
# PHP: known chains of calls have exactly their frames and lines in place of the engine's loop, launched and attached to, in
# three releases of Debian: functions of all kinds, generators, fibers, callbacks of C, magic methods, files and texts that
# are run, destructors, and with a JIT.
set -euo pipefail
. e2e/lib.sh
need_root
need python3 go php mmdebstrap

check() { # WHAT OPTION...
    echo -n "$1: "
    python3 e2e/php/chains.py "$TMP/x.pb.gz" "$TMP/own" "${@:2}" || fail "$1: the chains are not as the program has them"
    expect '.lost["ring-full"] + .lost.scratch + .lost["stack-memory"] + .lost.malformed' == 0
}

launched() { # WHAT PHP...
    record -F 199 -o "$TMP/x.pb.gz" -- "${@:2}" "$target" 100 >"$TMP/own"
    check "$1" --missed 300
}

# It runs for a while already.
attached() { # WHAT PHP...
    : >"$TMP/own" # what an earlier one said is gone before this one begins
    "${@:2}" "$target" 100 >"$TMP/own" &
    local php=$!
    at_exit "kill -KILL $php"
    await grep -q c03 "$TMP/own"
    record_in_background -F 199 -o "$TMP/x.pb.gz" -p $php
    wait "$recorder"
    check "$1 attached" --missed 300 --few 0
}

# Each function is compiled when its file is loaded; files may be new. Lines are those of calls.
JIT=(-d opcache.enable_cli=1 -d opcache.file_update_protection=0 -d opcache.jit_buffer_size=64M -d opcache.jit=function)

# The interpreter of another release.
release() { # SUITE PHP OPTION...
    local root
    root=$(e2e/debian.sh "$1" ruby php-cli perl) || skip "Debian's $1 cannot be fetched"
    folder=$(mktemp -d "$root/tmp/chains-XXXXXX")
    at_exit "rm -rf '$folder'"
    cp -r e2e/php/. "$folder"
    target=${folder#"$root"}/chains_target.php
    php=(chroot "$root" "$2" -n "${@:3}")
}

CACHE=$TMP/cache
target=e2e/php/chains_target.php
record -- php -r 'hash("sha256", "x");' 2>/dev/null # so that unwind tables are there
launched "$(php -r 'echo PHP_VERSION;')" php
attached "$(php -r 'echo PHP_VERSION;')" php
launched "with a JIT" php "${JIT[@]}"
release bullseye php7.4 -d extension=json
launched "bullseye" "${php[@]}"
attached "bullseye" "${php[@]}"
release trixie php8.4
launched "trixie" "${php[@]}"
attached "trixie" "${php[@]}"
launched "trixie with a JIT" "${php[@]}" -d zend_extension=opcache "${JIT[@]}"
