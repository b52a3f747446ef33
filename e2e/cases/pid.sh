#!/bin/bash
# -p: its threads, its children, those yet to be born, and nothing else; and the end when all are gone.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root

build_target tree -pthread
OUT=stranger build_target layout
"$TMP/stranger" 60000 &
stranger=$!
at_exit "kill $stranger"
"$TMP/tree" &
tree=$!
at_exit "kill -KILL $tree"
await pgrep -P $tree
(sleep 0.6 && kill -USR1 $tree) &
record -d 1500ms -p $tree
expect_samples 200
expect_complete 99
expect_stack 'tree;_start;(.*;)?main;burn' "$profile" 15
expect_stack 'tree;[^_].*;in_thread;burn' "$profile" 15
expect_stack 'main;(child;)?in_old_child;burn' "$profile" 15
expect_stack 'main;(child;)?in_new_child;burn' "$profile" 10
expect_no_stack 'stranger;.*'

# Born while the recorder is still getting ready, at moments that hit each of its steps.
for delay in 0.03 0.08 0.13; do
    "$TMP/tree" &
    another=$!
    await pgrep -P $another
    (sleep $delay && kill -USR1 $another) &
    record -d 700ms -p $another
    kill -KILL $another
    expect_stack 'main;(child;)?in_new_child;burn' "$profile" 1
done

# One that sleeps has no samples; the user learns why, and what to try. One that ran is not said to sleep.
sleep 60 &
idle=$!
at_exit "kill $idle"
sleep 0.2 # it has started
record -d 300ms -p $idle
expect .samples == 0
grep -q "no samples.*xprof stack $idle" "$errors" || fail "nothing is said of a process that slept"
record -d 300ms -p $tree
if grep -q 'no samples' "$errors"; then fail "a process that ran is said to have slept"; fi

# It ends by itself, without -d.
kill $stranger
"$TMP/stranger" 300 &
last=$!
expect_exit 0 '' timeout 60 "$XPROF" record -F 997 -p $last -o "$TMP/last.collapsed"
if kill -0 $last 2>/dev/null; then fail "the recording ended before the process"; fi
expect_stack 'main;outer;middle;inner;burn' "$TMP/last.collapsed" 20

# A thread's number stands for its process; a number of nobody is said to be one.
record -d 300ms -p "$(find "/proc/$tree/task" -mindepth 1 -maxdepth 1 -printf '%f\n' | tail -n 1)"
expect_stack 'tree;_start;(.*;)?main;burn' "$profile" 10
expect_stack 'in_thread;burn' "$profile" 10
expect_exit 1 'there is no process 4194303' "$XPROF" record -p 4194303

# A process that has ended, but whom its parent does not wait for, has ended.
(
    "$TMP/stranger" 100 &
    exec sleep 20
) &
parent=$!
at_exit "kill $parent"
await pgrep -P $parent
expect_exit 0 '' timeout 8 "$XPROF" record -p "$(pgrep -P $parent)" -o "$TMP/last.collapsed"
