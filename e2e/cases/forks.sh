#!/bin/bash
# Thousands of short processes a second: every sample is accounted for.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root

build_target storm
storm() { # [PROGRAM]: longer on a busy machine
    local seconds
    for seconds in 2 8 30; do
        record -- "$TMP/storm" $seconds "$@" >"$TMP/count"
        if is "$(value .samples)" '>=' 500; then break; fi
    done
    echo "$(cat "$TMP/count") processes: $("$XPROF" version), $(value .samples) samples"
    expect .samples '>=' 500
    expect '[.lost[]] | add' == 0
    expect '[.user_samples, .cut["no-memory-map"], .cut["no-image"], .cut["kernel-thread"]] | add' == "$(value .samples)"
    expect '.complete / .user_samples' '>=' 0.95 # on a busy machine a file may wait for a process that lives long enough
    total=$(samples_of '.*')
    [ "$total" = "$(value .samples)" ] || fail "$total samples in the profile, $(value .samples) in the summary"
}
storm
is "$(cat "$TMP/count")" '>' 1000 || fail "the machine is too slow for this test: $(cat "$TMP/count") processes"
storm /bin/true
expect_stack 'true;.*' "$profile" 50
