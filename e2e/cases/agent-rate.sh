#!/bin/bash
# When the rate changes while a program runs, its profiles still add up to its CPU time.
set -euo pipefail
. e2e/lib.sh
need_root
need go
. e2e/agent/lib.sh

build_target layout
printf 'rate: 49\nmax-rate: 999\nmax-cpu: 100\n' >"$TMP/xprof.yaml"
start_agent --host-processes off --config "$TMP/xprof.yaml"
make_container "$(printf 'ab%.0s' {1..32})"
(contained "$TMP/layout" 60000) &
pid=$!
at_exit "kill $pid"
for rate in 499 19; do
    sleep 3
    sed -i "s/rate: [0-9]*/rate: $rate/; s/max-rate: .*/max-rate: 999/" "$TMP/xprof.yaml"
    kill -HUP "$agent_pid"
done
sleep 3
used=$(awk -v hz="$(getconf CLK_TCK)" '{ print ($14 + $15) / hz }' "/proc/$pid/stat")
end_agent
read -r _ told _ <<<"$(tally host/abababababab)"
told=$(awk -v ns="$told" 'BEGIN { print ns / 1e9 }')
echo "$told s of $used s"
awk -v told="$told" -v used="$used" 'BEGIN { exit !(told > 0.9 * used && told < 1.1 * used) }' ||
    fail "the profiles hold $told s of a process that used $used s"
