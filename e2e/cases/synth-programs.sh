#!/bin/bash
# Real programs in hand-written assembly without unwind information: their stacks are complete, and gdb's, frame by frame,
# wherever gdb finds its way; without synthesised rows they are not. As many of them as are installed (e2e/nocfi).
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need gdb python3 readelf jq

tmp=$TMP
. e2e/nocfi/programs.sh

share() { # OPTION...: per cent of the running program's stacks that are complete
    "$XPROF" record -F 997 -d 1s -p "$running" --cache-dir "$TMP/cache" --summary "$summary" -o "$TMP/x.collapsed" "$@" 2>"$errors" ||
        fail "nothing was recorded"
    jq '100 * .complete / .user_samples | floor' "$summary"
}

for name in $(programs); do
    program "$name" >/dev/null 2>&1
    "${command[@]}" >"$TMP/out" 2>&1 &
    running=$!
    at_exit "kill -KILL $running"
    sleep 1
    with=0
    for ((i = 0; i < 10 && with < 97; i++)); do # until its code has been read; then the table is there from the start
        with=$(share)
    done
    without=$(share --synth=off)
    PID=$running STOPS=10 timeout 60 gdb -batch -nx -x e2e/nocfi/gdb.py >"$TMP/gdb" 2>&1 || fail "$(cat "$TMP/gdb")"
    result=$(tail -n 1 "$TMP/gdb")
    echo "$name: $with % complete, $without % without; gdb: $result"
    [ "$with" -ge 97 ] || fail "$name: $with % of the stacks are complete"
    [ "$without" -lt 90 ] || fail "$name: $without % are complete without synthesised rows: this proves nothing"
    jq -e '.stops >= 4 and .complete >= .stops * 0.8 and .equal + .cut == .sound' <<<"$result" >/dev/null || fail "$name: $result"
    kill -KILL $running
    wait $running 2>/dev/null || true
    ran=$((${ran:-0} + 1))
done
[ "${ran:-0}" -ge 8 ] || skip "only ${ran:-0} of ten such programs can be run here: $(programs | xargs)"
