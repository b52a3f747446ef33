#!/bin/bash
# The parser process is killed again and again: files still get their tables, and it is counted.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root

build_target layout -g
record_in_background -a -v
parser_of() { # waits for one with its seccomp filter on, then kills it
    local children
    mapfile -t children < <(pgrep -P "$xprof" -x xprof-parser) # those who read processes may have one, too
    [ ${#children[@]} -gt 0 ] && kill -KILL "${children[@]}"
}
for i in 1 2 3 4 5; do
    await parser_of
    OUT=fresh$i build_target layout -DPREFIX="p${i}_" # a file that nobody has seen
    "$TMP/fresh$i" 150
done
kill -INT "$xprof"
wait "$recorder" || fail "exit $?"
expect .parser_restarts '>=' 4
grep -q 'the parser process was restarted [0-9]* times' "$errors" || fail "the text summary does not mention it"
for i in 1 2 3 4 5; do
    expect_stack "fresh$i;_start;(.*;)?main;p${i}_outer;p${i}_middle;p${i}_inner;burn" "$profile" 50
done
