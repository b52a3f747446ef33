#!/bin/bash
# The life of a table with synthesised rows: made when stacks stop, which wait for it, swapped in while the program runs,
# kept on disk, there from the first sample of the next recording; marked wherever frames were found through it; counted by
# the agent.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need go jq

OUT=bare build_target layout -fno-asynchronous-unwind-tables -fomit-frame-pointer
whole='_start;(.*;)?main;outer;middle;inner;burn'
export CACHE=$TMP/cache

# Stacks of the first recording that stopped before the code was looked at wait for it, whether the program is new or not;
# pprof says which samples owe it their frames. There is no more than so many samples a second that bring along what that
# takes, and none is wanted when all is decided.
first_is_whole() {
    expect_samples 250
    expect_complete 99
    expect_share 99 'main;outer;middle;inner;burn' 'burn;?.*'
    expect '.cut["no-rule"] + .cut["frame-pointer"] + .cut.unproven + .lost["stack-dump"]' '<=' 1
    expect .late '>=' 1
    expect .synth_rows '>' 0
    rm -r "$CACHE"
}
HZ=399 record_both first_is_whole -- "$TMP/bare" 700
record -o "$TMP/x.pb.gz" -- "$TMP/bare" 600
go tool pprof -raw -symbolize=none "$TMP/x.pb.gz" 2>/dev/null | grep 'unwind:\[\(synthesised\|inferred\)\]' >/dev/null ||
    fail "no sample says that it was unwound by synthesised rows"
find "$CACHE" -name '*.xps' | grep . >/dev/null || fail "the cache has no mark"

# The second one is whole from its first sample on, and makes nothing.
made() { find "$CACHE" -name '*.xp[tsn]' -printf '%i %p\n' | sort; }
made >"$TMP/made"
record -- "$TMP/bare" 300
expect_samples 200
expect_complete 98
expect_share 98 "$whole" 'burn;?.*'
[ -z "$(comm -23 "$TMP/made" <(made))" ] || fail "made again: $(comm -23 "$TMP/made" <(made))"

# Whoever does not want it does not get it, whatever is kept.
record --synth off -- "$TMP/bare" 300
expect '.complete / .user_samples' '<' 0.05

# A damaged table is made anew.
find "$CACHE" -name '*.xpt' | while read -r file; do
    printf '\377\252' | dd of="$file" bs=1 seek=$(($(stat -c %s "$file") / 2)) conv=notrunc status=none
done
record -- "$TMP/bare" 600
expect_stack "$whole|main;outer;middle;inner;burn" "$profile" 200

"$XPROF" inspect --json "$TMP/bare" >"$TMP/inspect"
jq -e '.files[0] | .rows.synthesised > 0 and .synthesis.claimed > 0' "$TMP/inspect" >/dev/null || fail "inspect shows no rows"

# The agent: the same within its intervals.
. e2e/agent/lib.sh
start_agent
"$TMP/bare" 8000 &
target=$!
at_exit "kill -KILL $target"
synthesised() { [ "$(metric xprof_synth_files_total '"(synthesised|kept)"')" -ge 1 ]; }
await synthesised
[ "$(metric xprof_synth_rows)" -gt 0 ] || fail "no rows are counted"
end_agent
