#!/bin/bash
# A command: its exit status is passed on, and signals end a recording early without losing it.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root

build_target layout
expect_exit 0 '' record -- true
expect_exit 3 '' record -- sh -c 'exit 3'
expect_exit $((128 + 11)) '' record -- sh -c 'kill -SEGV $$'
expect_exit 1 'cannot run /nowhere/nothing: No such file or directory' "$XPROF" record -- /nowhere/nothing

for signal in INT TERM; do
    record_in_background -a
    "$TMP/layout" 300
    kill -"$signal" "$xprof"
    wait "$recorder" || fail "exit $? after SIG$signal"
    expect_stack 'layout;(.*;)?main;outer;middle;inner;burn' "$profile" 100
    is "$(value .duration_seconds)" '<' 30 || fail "it did not end early"
done

# Scripts start what they do not wait for with SIGINT ignored.
(trap '' INT && record -a -d 40s) &
recorder=$!
at_exit "kill \$(pgrep -P $recorder) 2>/dev/null"
await has_perf_events
kill -INT "$xprof"
wait "$recorder" || fail "exit $? after SIGINT where it was ignored"
is "$(value .duration_seconds)" '<' 30 || fail "it did not end early"

# -d ends the command, too. The summary says when the recording began, by the clock on the wall.
rc=0
before=$EPOCHREALTIME
record -d 400ms -- "$TMP/layout" 60000 || rc=$?
[ $rc = $((128 + 15)) ] || fail "exit $rc of a command that -d ended"
expect_stack 'main;outer;middle;inner;burn' "$profile" 20
if pgrep -x -f "$TMP/layout 60000"; then fail "the command lives on"; fi
is "$(value .start_seconds)" '>=' "$before" || fail "it began before it was started at $before"
is "$(value .start_seconds) + $(value .duration_seconds)" '<=' "$EPOCHREALTIME + 0.001" || fail "it ended later than now"
is "$(value .startup_seconds)" '<' 10 || fail "the start took longer"

# A command that will not end does not keep the profile from being written; a second signal kills it.
rm -f "$profile"
# shellcheck disable=SC2016
record -d 300ms -- sh -c 'trap "" TERM; "$0" 8000; "$0" 8000' "$TMP/layout" &
recorder=$!
await test -s "$profile"
expect_stack 'main;outer;middle;inner;burn' "$profile" 20
kill -INT "$(pgrep -P "$recorder" -x xprof)"
rc=0
wait "$recorder" || rc=$?
[ $rc = $((128 + 9)) ] || fail "exit $rc of a command that had to be killed"
