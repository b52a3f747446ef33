#!/bin/bash
# A container whose files bring as many unwind rules as they can: its own stacks are cut, and its neighbour's, which are
# sampled after that, are not.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need go
. e2e/agent/lib.sh

few=8000
build_rules all 100 65000
for i in {0..9}; do build_rules "part$i" $((100000 + i * few)) $few; done
OUT=victim build_target layout

start_agent --host-processes off
make_container "$(printf 'ab%.0s' {1..32})"
hogs=()
for program in all part{0..9}; do
    (contained "$TMP/$program") &
    hogs+=($!)
    at_exit "kill $!"
done
refused() { [ "$(metric xprof_stacks_total "$1")" -gt 0 ]; }
await refused 'cause="too-many-rules"'
await refused 'cause="share-full"'

make_container "$(printf 'cd%.0s' {1..32})"
(contained "$TMP/victim" 4000) &
await has_profiles host/cdcdcdcdcdcd
wait $!
end_agent
kill "${hogs[@]}"
part=$(percent_with host/cdcdcdcdcdcd main)
echo "$part % of the neighbour's stacks are whole"
[ "$part" -ge 99 ] || fail "more than its first ones are cut"
