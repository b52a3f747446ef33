#!/bin/bash
# PHP: known chains of calls have exactly their frames and lines in place of the engine's loop, launched and attached to, in
# three releases of Debian: functions of all kinds, generators, fibers, callbacks of C, magic methods, files and texts that
# are run, destructors, and with a JIT.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need python3 go php
language=php
. e2e/scripts/lib.sh

# Each function is compiled when its file is loaded; files may be new. Lines are those of calls.
JIT=(-d opcache.enable_cli=1 -d opcache.file_update_protection=0 -d opcache.jit_buffer_size=64M -d opcache.jit=function)

chains() {
    local php program=("$own/chains_target.php" 100) jit=("${JIT[@]}")
    case $suite in
    '')
        php=(php)
        record -- php -r 'hash("sha256", "x");' 2>/dev/null # so that unwind tables are there
        ;;
    bullseye) php=("${enter[@]}" php7.4 -n -d extension=json) jit=() ;; # it has no JIT
    trixie) php=("${enter[@]}" php8.4 -n) jit=(-d zend_extension=opcache "${JIT[@]}") ;;
    esac
    local version=${suite:-$(php -r 'echo PHP_VERSION;')}
    launched "$version" "${php[@]}" "${program[@]}"
    attached "$version" "${php[@]}" "${program[@]}"
    [ ${#jit[@]} = 0 ] || launched "$version with a JIT" "${php[@]}" "${jit[@]}" "${program[@]}"
}

CACHE=$TMP/cache
for_each_release chains
