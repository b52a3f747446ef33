#!/bin/bash
# A container runs in libraries that another one has, too, and puts a file of the same size in their place before the agent
# opens them: the other one's stacks and names come from the libraries nevertheless.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need go
. e2e/agent/lib.sh

build_target flip
OUT=lib.so build_target layout -shared -fPIC
head -c "$(stat -c %s "$TMP/lib.so")" /dev/zero >"$TMP/other"
libraries=()
for i in {1..5}; do # it is a race, which the other file does not always win
    cp "$TMP/lib.so" "$TMP/lib$i.so"
    libraries+=("$TMP/lib$i.so")
done
start_agent --host-processes off --rate 499 --max-rate 499 --max-cpu 100
make_container "$(printf 'ab%.0s' {1..32})"
for library in "${libraries[@]}"; do
    (contained "$TMP/flip" "$library" "$TMP/other") &
    sleep 0.5
    kill $!
done
await has_profiles host/abababababab

make_container "$(printf 'cd%.0s' {1..32})"
for library in "${libraries[@]}"; do
    (contained "$TMP/flip" "$library") &
    wait $!
done
await has_profiles host/cdcdcdcdcdcd
end_agent
for name in main outer middle inner; do
    part=$(percent_with host/cdcdcdcdcdcd $name)
    echo "$part % of the neighbour's samples have $name"
    [ "$part" -ge 95 ] || fail "it is to be in nearly all of them"
done
