#!/bin/bash
# A recorder that is kept from reading: the ring runs over, what was lost is counted, the rest is whole.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root

build_target threads -pthread -DFOREVER
"$TMP/threads" &
at_exit "kill -KILL $!"
HZ=10000 record_in_background -p $!
sleep 0.3
kill -STOP "$xprof"
sleep 2.5
kill -CONT "$xprof"
sleep 0.5
kill -INT "$xprof"
wait "$recorder" || fail "exit $?"
expect '.lost["ring-full"]' '>' 0
expect .samples '>' "$(value '.lost["ring-full"]')"
expect_complete 99
grep -q 'ring-full: [1-9]' "$errors" || fail "the text summary does not tell what was lost"
total=$(samples_of '.*')
[ $((total + $(value '[.lost[]] | add'))) = "$(value .samples)" ] || fail "$total samples in the profile do not add up"
expect_share 99 'work;burn' 'threads;.*;burn'
