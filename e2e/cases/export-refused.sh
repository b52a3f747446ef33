#!/bin/bash
# One profile that a real Pyroscope refuses, fails on, or never takes costs that profile and no other; a rate limit costs
# none.
# beside others
set -euo pipefail
. e2e/lib.sh
. e2e/pyroscope/lib.sh

need_server
need python3
record_profile
free_ports
echo 'overrides: {}' >"$TMP/runtime.yaml"
start_server v1 -runtime-config.file="$TMP/runtime.yaml" -runtime-config.reload-period=500ms
good="__name__=process_cpu service_name=shop"
echo 'not a profile' >"$TMP/garbage"
python3 - "$TMP/x.pb.gz" "$TMP/big.pb.gz" <<'EOF2'
import gzip, sys
raw = gzip.open(sys.argv[1]).read()
for i in range(2500): # strings that nobody uses: 2.5 MB
    raw += b"\x32\xe8\x07" + b"%01000d" % i
gzip.open(sys.argv[2], "wb").write(raw)
EOF2

# 400, 429 for ever, too old, a label the server cannot take: each dropped at once, by its reason
start_sender -s "$TMP/spool" "pyroscope:push:url=$url"
say put "$TMP/x.pb.gz" 2 "$good" pod=a%
say put "$TMP/x.pb.gz" 1 "$good" pod=bad 1a/b=x
say put "$TMP/big.pb.gz" 1 "$good" pod=big
say put "$TMP/x.pb.gz" 1 "$good" pod=old @age=7200
say put "$TMP/x.pb.gz" 2 "$good" pod=b%
say flush 20000
await_stat 0 '.pending == 0'
expect_stat 0 '.sent' 4
expect_stat 0 '.dropped|tojson' '{"too-old":1,"invalid":1,"too-large":1}'
grep -q '^news push: invalid: 400 invalid_argument: ' "$TMP/sent" || fail "it does not say what the server said"

# 500 for what is no profile: dropped after others passed
say raw "$TMP/garbage" 1 "$good" pod=garbage
for ((i = 0; i < 20; i++)); do
    say put "$TMP/x.pb.gz" 1 "$good" pod=c$i
    sleep 0.3
done
say flush 20000
await_stat 0 '.pending == 0'
expect_stat 0 '.sent' 24
expect_stat 0 '.dropped["server-error"]' 1

# 429 while the limit is low; nothing is lost when it is raised again
printf 'overrides:\n  anonymous: {ingestion_rate_mb: 0.000001, ingestion_burst_size_mb: 0.000001}\n' >"$TMP/runtime.yaml"
limited() { # a pod of its own each time: v1 keeps one profile of a series and a time
    say put "$TMP/x.pb.gz" 1 "$good" pod=d$((n = ${n:-0} + 1))
    settled
    grep -q '^news push: rate-limited: 429 resource_exhausted' "$TMP/sent"
}
await limited
say stats
settled
before=$(stat_of 0 '.sent + .pending')
echo 'overrides: {}' >"$TMP/runtime.yaml"
drained() { # flush does not wait for the back-off
    say flush 500
    say stats
    settled
    [ "$(stat_of 0 '.pending == 0')" = true ]
}
await drained
expect_stat 0 .sent "$before"
expect_stat 0 '.dropped|tojson' '{"too-old":1,"invalid":1,"too-large":1,"server-error":1}'
[ "$(nanoseconds $cpu '{service_name="shop"}')" = $((before * $(nanoseconds $cpu '{service_name="shop",pod="a0"}'))) ] ||
    fail "the server has not each profile once"
end_sender
