#!/bin/bash
# Ruby: known chains of calls have exactly their frames and lines in place of the interpreter's loop, launched and attached
# to, in the versions of three releases of Debian: methods of all kinds, blocks, refinements, rescue and ensure, text that
# is evaluated, callbacks of C, fibers, threads, and methods in C.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need ruby python3 go
language=ruby
. e2e/scripts/lib.sh

chains() {
    local ruby=("${enter[@]}" ruby) version
    version=$("${ruby[@]}" -e 'print RUBY_VERSION[/\d+\.\d+/]')
    record -- "${ruby[@]}" -rjson -e 1 2>/dev/null # so that unwind tables are there
    launched "$version" "${ruby[@]}" "$own/chains_target.rb" 60
    attached "$version" "${ruby[@]}" "$own/chains_target.rb" 60
}

CACHE=$TMP/cache
for_each_release chains
