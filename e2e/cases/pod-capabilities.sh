#!/bin/bash
# Each kind of event begins with the capabilities that the chart gives the agent, and no others: what libbpf or the verifier
# allows to root alone is not seen by any case that runs as root.
# beside others
set -euo pipefail
. e2e/lib.sh

need_root
need setpriv
names=$(sed -n 's/^capabilities: \[\(.*\)\]$/\1/p' deploy/helm/xprof/values.yaml)
[ -n "$names" ] || fail "the chart has no list of capabilities"
bounds=$(tr -d ' ' <<<"$names" | tr 'A-Z,' 'a-z\n' | sed 's/^/+/' | paste -sd,)
as_pod() {
    setpriv --inh-caps=-all --bounding-set="-all,$bounds" "$@"
}
as_pod grep -q '^CapEff:.*[1-9a-f]' /proc/self/status || fail "no capability is left"
[ "$(as_pod sed -n 's/^CapEff:\t//p' /proc/self/status)" != "$(sed -n 's/^CapEff:\t//p' /proc/self/status)" ] ||
    fail "root's capabilities are all there"

count=0
while read -r event _ _ _ needs _; do
    [ "$needs" != PMU ] || continue
    format=collapsed
    [ "$event" != timeline ] || format=json
    as_pod "$XPROF" record --no-cache -e "$event" -o "$TMP/$event.$format" -- sleep 0.2 2>"$errors" ||
        fail "$event does not begin in a pod"
    count=$((count + 1))
done < <("$XPROF" list | tail -n +2)
[ $count -ge 16 ] || fail "only $count events were tried"
