#!/bin/bash
# A slow leak beside much that comes and goes is the first line of all formats, and nothing else is called a leak: of a
# process that runs already, and of a command. What grows and shrinks is none. Options that make no sense are refused.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need go
need_kernel 6.6 "uprobe_multi links"
build_target leaky -pthread

leaks() { # FILE: the functions of the program that are in it
    grep -oE '(leak|churn|grow_and_shrink|serve|begin)(;malloc)? [0-9]+$|;(leak|churn|grow_and_shrink|serve|begin);' "$1" |
        grep -oE 'leak|churn|grow_and_shrink|serve|begin' | sort -u
}

check() { # WHAT RATE: bytes per second that it leaks
    [ -s "$profile" ] || fail "$1: there is no leak"
    [ "$(leaks "$profile")" = leak ] || fail "$1: called leaks: $(leaks "$profile" | tr '\n' ' ')"
    awk '{ n = $NF; $NF = ""; print n, $0 }' "$profile" | sort -rn | head -n 1 | grep -q ';leak;malloc' ||
        fail "$1: the leak is not the first line"
    local rate
    rate=$(is "$(value .leaks_seconds)" '>' 0 && awk "BEGIN { print $(value .leaked_bytes) / $(value .leaks_seconds) }")
    is "$rate" '>' "0.7 * $2" || fail "$1: it leaks $rate bytes per second, not $2"
    is "$rate" '<' "1.4 * $2" || fail "$1: it leaks $rate bytes per second, not $2"
    GOTOOLCHAIN=local go tool pprof -symbolize=none -top "$TMP/x.pb.gz" 2>/dev/null >"$TMP/top"
    grep -q '^Type: leaked_space' "$TMP/top" || fail "$1: pprof does not show leaks first"
    awk '/flat%/ { on = 1; next } on { exit !/malloc/ }' "$TMP/top" || fail "$1: pprof has another leak"
    grep -q "^leaks: what 1 call path holds grew by" "$errors" || fail "$1: the summary does not say so"
    echo "$1: $rate bytes per second of $2"
}

"$TMP/leaky" 60 300000 200000000 >/dev/null &
pid=$!
at_exit "kill $pid"
sleep 1
record -e memory --leaks --older-than 3s -p $pid -d 20s -o "$TMP/x.pb.gz" --top 5 >"$TMP/table"
check attached 300000
awk 'tolower($0) ~ /self|function/ { on = 1; next } on && NF { exit !/malloc/ }' "$TMP/table" || {
    cat "$TMP/table" >&2
    fail "the table has another first line"
}
kill $pid
wait $pid || true

record -e memory --leaks --older-than 2s --memory-exact -o "$TMP/x.pb.gz" -- "$TMP/leaky" 16 300000 20000000
check exactly 300000

record -e memory --leaks --older-than 3s -o "$TMP/x.pb.gz" -- "$TMP/leaky" 14 0 20000000
[ ! -s "$profile" ] || fail "there are leaks where there are none"
grep -q "^leaks: none" "$errors" || fail "the summary does not say that there is none"
record -e memory --leaks --older-than 2s -- "$TMP/leaky" 2 300000 20000000
grep -q "^leaks: nothing can be said" "$errors" || fail "two seconds are taken for enough"

expect_exit 2 "-e memory" "$XPROF" record --leaks -d 20s -p $$
expect_exit 2 "--leaks" "$XPROF" record -e memory --older-than 3s -d 20s -p $$
expect_exit 2 "record longer" "$XPROF" record -e memory --leaks --older-than 20s -d 10s -p $$
expect_exit 2 "record longer" "$XPROF" record -e memory --leaks -d 10s -p $$
