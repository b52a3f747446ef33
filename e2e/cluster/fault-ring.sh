#!/bin/bash
# No sample of who opted out ever leaves the kernel: every record that the kernel writes for the agent is read along, while
# pods that did not ask, said no, are not named, or have taken their annotation back, are as busy as those that asked.
set -euo pipefail
. e2e/lib.sh
need_root
. e2e/agent/lib.sh
. e2e/faults/node.sh
. e2e/faults/sum.sh

OUT=short build_target layout
gcc -D_GNU_SOURCE -std=gnu11 -O2 -I. -o "$TMP/ring" e2e/faults/ring.c
busy="sh -c 'while :; do $TMP/short 20; sleep 0.05; done'" # short-lived programs: each is new to the kernel side
start_node
node make asks 1 2 xprof.io/profile=true xprof.io/containers=c0
node make other 1 2 xprof.io/profile=true xprof.io/containers=c1
node make silent 1 1
node make denied 1 1 xprof.io/profile=false
for who in asks other silent denied; do node busy $who 1 "$busy"; done # each in its container c0
start_node_agent --rate 499 --max-cpu 100
profiled() { # POD...: these containers c0 are, and none else
    curl -sf "$page/targets" | jq -e --arg w "$*" \
        '[.[] | select(.kind == "container" and .profiled and .labels.container == "c0").labels.pod] | sort | join(" ") == $w'
}
group_of() { # POD: of its container c0
    curl -sf "$page/targets" | jq -er --arg p "$1" '.[] | select(.kind == "container" and (.labels.pod == $p)
        and .labels.container == "c0").cgroup'
}
soon profiled asks-0

watch_ring() {
    "$cluster/in" "$TMP/ring" "$agent_pid" >"$TMP/seen" 2>"$TMP/ring.err" &
    ring=$!
    at_exit "kill -KILL $ring"
    await grep -q watching "$TMP/seen"
}
read_ring() {
    kill -TERM "$ring"
    wait "$ring" || fail "the ring was not read to its end: $(cat "$TMP/ring.err")"
}
# Samples that are not of this cgroup.
strangers() { # CGROUP
    awk -v mine="$1" '$1 == "sample" && $2 != mine { n += $3 } END { print n + 0 }' "$TMP/seen"
}
records() { # KIND
    awk -v k="$1" '$1 == k { n += $3 } END { print n + 0 }' "$TMP/seen"
}

watch_ring
unwanted_for 1000
read_ring
taken=$(records sample)
[ "$taken" -ge 40 ] || fail "only $taken samples of who asked are in the ring"
[ "$(strangers "$(group_of asks-0)")" = 0 ] || fail "samples of others are in the ring"
[ "$(records discarded)" = 0 ] || fail "records were begun and given up"
echo "$(metric xprof_samples_unwanted_total) samples of who did not ask; in the ring: $taken of who asked, 0 of others"

# The annotation is taken back: from when that is known on, nothing at all.
node note asks 1 xprof.io/profile-
soon profiled
watch_ring
unwanted_for 1000
read_ring
[ "$(records sample) $(records file) $(records dump)" = "0 0 0" ] || fail "what is nobody's is in the ring"
echo "taken back: 0 samples, 0 files, 0 stacks in the ring"

# And it comes again.
node note denied 1 xprof.io/profile=true
soon profiled denied-0
watch_ring
unwanted_for 300
read_ring
[ "$(strangers "$(group_of denied-0)")" = 0 ] || fail "samples of others are in the ring"
[ "$(records sample)" -ge 20 ] || fail "who asks now is not in the ring"
end_agent
end_node
