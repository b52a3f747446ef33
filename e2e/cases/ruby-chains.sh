#!/bin/bash
# Ruby: known chains of calls have exactly their frames and lines in place of the interpreter's loop, launched and attached
# to, in the versions of three releases of Debian: methods of all kinds, blocks, refinements, rescue and ensure, text that
# is evaluated, callbacks of C, fibers, threads, and methods in C.
set -euo pipefail
. e2e/lib.sh
. e2e/ruby/lib.sh
need_root
need ruby python3 go

check() { # WHAT OPTION...
    echo -n "$1: "
    python3 e2e/ruby/chains.py "$TMP/x.pb.gz" "$TMP/own" "${@:2}" || fail "$1: the chains are not as the program has them"
    expect '.lost["ring-full"] + .lost.scratch + .lost["stack-memory"] + .lost.malformed' == 0
}

launched() { # ROOT
    record -F 199 -o "$TMP/x.pb.gz" -- chroot "$1" ruby "$program" 60 >"$TMP/own"
    check "$version launched" --missed 300
}

# It runs for a while already.
attached() { # ROOT
    : >"$TMP/own" # what an earlier one said is gone before this one begins
    chroot "$1" ruby "$program" 60 >"$TMP/own" &
    local ruby=$!
    at_exit "kill -KILL $ruby"
    await grep -q c03 "$TMP/own"
    record_in_background -F 199 -o "$TMP/x.pb.gz" -p $ruby
    wait "$recorder"
    check "$version attached" --missed 300 --few 0
}

CACHE=$TMP/cache
find_rubies
for root in "${rubies[@]}"; do
    version=$(ruby_version "$root")
    put_program "$root" e2e/ruby/chains_target.rb
    record -- chroot "$root" ruby -rjson -e 1 2>/dev/null # so that unwind tables are there
    launched "$root"
    attached "$root"
done
