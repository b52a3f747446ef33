#!/bin/bash
# Beside programs that claim to be Java virtual machines and lie about all that is read of them, and two whose memory hangs
# who reads it, another container's Java is profiled as if they were not there; and what they cost the agent is limited.
set -euo pipefail
. e2e/lib.sh
need_root
need go python3
[ -w /dev/fuse ] || skip "there is no /dev/fuse"
. e2e/agent/lib.sh
. e2e/agent/hostile.sh
. e2e/java/lib.sh

lies='segments endless stride kernel unreadable everything overlap places names frozen deep bytes tables'
build_java Chains
build_target hangfs
gcc -O2 -I. -Iagent e2e/java/hostile.c -o "$TMP/hostile"
"$TMP/hostile" "$TMP/lib" sound 0 >"$TMP/out" || skip "memory cannot be mapped at the lowest addresses"
INTERVAL=2s

victim() { # TWO_HEX_DIGITS
    make_container "$(printf "$1%.0s" {1..32})"
    (contained "${javas[-1]}" -cp "$TMP" Chains 6000 c03) >"$TMP/$1" 2>&1 || fail "the program failed"
}

for_each_java 17 25
make_container "$(printf 'cd%.0s' {1..32})"
lie_and_hang hang-names hang-tables
liars=("${groups[@]}")
start_agent --host-processes off --rate 199 --max-rate 199 --max-cpu 100
chain_of=(Chains.c03 Chains.in5)
victim ab
read -r whole chain < <(judge ab "${chain_of[@]}")
echo "alone: $whole % of the stacks are whole, $chain % of the chains are, too; the agent has $(($(memory_of_agent VmHWM) / 1024)) MiB"

groups=("${liars[@]}")
for pid in "${hanging[@]}"; do kill -CONT "$pid"; done
for kind in $lies; do lie "$kind"; done
await has_profiles host/cdcdcdcdcdcd
expect_unharmed "$chain" ef "${chain_of[@]}"
end_agent_soon
