#!/bin/bash
# Beside programs that claim to be CPython and lie about all that is read of them, and two whose memory hangs who reads it,
# another container's Python is profiled as if they were not there; what they cost the agent is limited; and names of each
# process are in stacks of that process only.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need go python3
[ -w /dev/fuse ] || skip "there is no /dev/fuse"
. e2e/agent/lib.sh
. e2e/agent/hostile.sh

python=/usr/bin/python3
[ -x $python ] || skip "there is no $python"
honest='sound sound8 sound10 sound11 sound14 cycle frames holes kernel deep rounds ring threads reused places'
others='moving crowd search bytes offsets form control'
greedy='flood lines giant long longer' # what they have to say is more than a container's share
build_target hangfs
gcc -O2 -rdynamic -I. -Iagent e2e/python/hostile.c -o "$TMP/hostile" -pthread
"$TMP/hostile" "$TMP/lib" sound 0 >"$TMP/out" || skip "memory cannot be mapped at the lowest addresses"
INTERVAL=2s
cat >"$TMP/victim.py" <<'END'
import sys, time

def victim_leaf(end):
    while time.perf_counter() < end:
        sum(range(100))

def victim_middle(n, end):
    return victim_middle(n - 1, end) if n else sorted([end], key=victim_leaf)

def victim_root(seconds):
    victim_middle(5, time.perf_counter() + seconds)

victim_root(float(sys.argv[1]))
END

victim() { # TWO_HEX_DIGITS
    make_container "$(printf "$1%.0s" {1..32})"
    (contained $python "$TMP/victim.py" 6) >"$TMP/$1" 2>&1 || fail "the program failed"
}

make_container "$(printf 'dc%.0s' {1..32})"
lie_and_hang hang-names hang-runtime
make_container "$(printf 'cd%.0s' {1..32})" # another one: in one that hangs nothing else is read for a while
liars=("${groups[@]}")
make_container "$(printf 'ba%.0s' {1..32})"
gluttons=("${groups[@]}")
start_agent --host-processes off --rate 199 --max-rate 199 --max-cpu 100
chain_of=('' victim_root victim_leaf)
victim ab
read -r whole chain < <(judge ab "${chain_of[@]}")
echo "alone: $whole % of the stacks are whole, $chain % have the chain; the agent has $(($(memory_of_agent VmHWM) / 1024)) MiB"
is "$chain" '>=' 95 || fail "only $chain % have the chain"

for pid in "${hanging[@]}"; do kill -CONT "$pid"; done
groups=("${gluttons[@]}")
for kind in $greedy; do lie "$kind" "${kind/longer/long}"; done
groups=("${liars[@]}")
for kind in $honest $others; do lie "$kind"; done
await has_profiles host/cdcdcdcdcdcd
expect_unharmed "$chain" ef "${chain_of[@]}"
python3 e2e/python/hostile.py "$out" "$honest" || fail "frames are not where they belong"
end_agent_soon
