#!/bin/bash
# xprof agent on a machine without a cluster: programs of the host and containers get profiles of their own, in files;
# nothing is lost on the way, and the end flushes.
set -euo pipefail
. e2e/lib.sh
need_root
need runc go
. e2e/agent/lib.sh

OUT=hotspot build_target layout
OUT=other build_target layout
build_target vdso
build_target threads -pthread
start_agent --thread-label on
"$TMP/hotspot" 3000 &
"$TMP/other" 3000 &
await has_profiles host/hotspot
await has_profiles host/other
await has_function host/hotspot burn
! has_function host/hotspot "$TMP/other" || fail "another program's profile holds this one"
"$TMP/vdso" &
await has_function host/vdso '\[vdso\]'
! has_function host/vdso '\[anonymous\]' || fail "the vdso's functions have no names"
wait %2 %3 %4

# Threads are told apart by name on request.
"$TMP/threads"
workers() { [ "$(profiles_of host/threads | grep -o 'thread:\[worker [0-7]\]' | sort -u | wc -l)" = 8 ]; }
await workers

# The kernel's tables are not the agent's memory: it maps them while it writes to them. What stays are ring and rules.
mapped() { awk '/^[0-9a-f]+-/ { map = /bpf-map/ } /^Rss/ && map { n += $2 } END { print n + 0 }' "/proc/$agent_pid/smaps"; }
few() { [ "$(mapped)" -lt 2800 ]; }
await few

# What was sampled is in the files or counted, to the last sample.
end_agent
samples=$(find "$out" -name '*.pb.gz' | while read -r f; do go tool pprof -raw -symbolize=none "$f" 2>/dev/null; done |
    awk '/^Samples:/ { on = 1; getline; next } /^Locations/ { on = 0 } on && /^ *[0-9]+ +[0-9]+:/ { n += $1 } END { print n }')
echo "$samples samples in $(find "$out" -name '*.pb.gz' | wc -l) files"
[ "$samples" -gt 100 ] || fail "only $samples samples"
[ ! -s "$errors" ] || fail "it complained"
