#!/bin/bash
# A thousand connections with half a request each, from nine addresses, kept alive by a byte now and then: a tenth
# address, as that of probes and scrapers, is answered all the same. And what pods there are is not told to other hosts.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need python3 unshare nsenter ip
. e2e/agent/lib.sh

start_agent --host-processes off
python3 e2e/targets/drip.py "$port" 0.1 >"$TMP/drip" &
at_exit "kill $!"
await test -s "$TMP/drip"
for i in {1..20}; do
    for of in healthz metrics; do
        curl -sf -m 3 -o /dev/null "$page/$of" || fail "no answer from /$of in round $i: curl ends with $?"
    done
    sleep 0.2
done
[ "$(wc -l <"$TMP/drip")" -gt 5 ] || fail "the connections were not kept up: this proves nothing"
[ "$(find "/proc/$agent_pid/fd" -lname 'socket:*' | wc -l)" -lt 200 ] || fail "it holds too many sockets"
end_agent

# A network of its own, where the agent has an address as that of a pod: who connects to it comes from elsewhere.
cat >"$TMP/network" <<'EOF'
set -e
ip link set lo up
ip addr add 10.78.0.1/32 dev lo
exec "$@"
EOF
echo secret >"$TMP/token"
unshare --net bash "$TMP/network" "$XPROF" agent --output-dir "$out" --state-dir "$state" --cache-dir "$TMP/cache" \
    --listen "[::]:$port" --targets-token-file "$TMP/token" --exclusive=off --cri-socket none >"$TMP/agent" 2>"$errors" &
agent_pid=$!
at_exit "kill -KILL $agent_pid"
status() { # EXPECTED ADDRESS PAGE OPTION...
    local expected=$1 have address=$2:$port/$3
    shift 3
    have=$(nsenter -t $agent_pid --net -- curl -s -o "$TMP/answer" -w '%{http_code}' "$@" "http://$address" || true)
    [ "$have" = "$expected" ] || { echo "$address: $have, not $expected: $(cat "$TMP/answer")" >&2 && return 1; }
}
await status 200 10.78.0.1 healthz 2>/dev/null
await status 200 127.0.0.1 targets
jq -e 'type == "array"' "$TMP/answer" >/dev/null || fail "no list of targets"
status 200 '[::1]' targets
status 403 10.78.0.1 targets
status 401 10.78.0.1 targets -H 'Authorization: Bearer secre'
status 200 10.78.0.1 targets -H 'Authorization: Bearer secret'
echo other >"$TMP/token"
status 401 10.78.0.1 targets -H 'Authorization: Bearer secret'
status 200 10.78.0.1 targets -H 'Authorization: Bearer other'
status 200 10.78.0.1 metrics
end_agent
