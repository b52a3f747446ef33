#!/bin/bash
# Perl: known chains of calls have exactly their frames and lines in place of the interpreter's loop, launched and attached
# to, in the Perls of three releases of Debian: subs and methods of all kinds, closures, blocks and subs of sort, callbacks of
# C, tied and overloaded things, signals, evals, files that are loaded, code in patterns, formats, filters and threads.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need perl python3 go
language=perl
. e2e/scripts/lib.sh

chains() {
    local perl=(env LC_ALL=C "${enter[@]}" perl) version
    version=$("${perl[@]}" -e 'printf "%vd", $^V')
    record -- "${perl[@]}" -e 'use threads; use Storable; use Digest::SHA' 2>/dev/null # so that unwind tables are there
    launched "$version" "${perl[@]}" "$own/chains_target.pl" 80 "$own/folder"
    attached "$version" "${perl[@]}" "$own/chains_target.pl" 80 "$own/folder"
}

CACHE=$TMP/cache
for_each_release chains
