#!/bin/bash
# What we send as OTLP profiles is what OpenTelemetry's own definition of them reads: every index leads somewhere, and
# the stacks and values are those of the pprof profile.
# beside others
set -euo pipefail
. e2e/lib.sh
. e2e/pyroscope/lib.sh
need python3

PYTHON=$(bash $here/python.sh) || skip "opentelemetry-proto cannot be installed"
record_profile
free_ports
"$PYTHON" $here/otlp_receiver.py "$port" "$TMP/got" &
at_exit "kill $!"
await curl -s -o /dev/null "http://127.0.0.1:$port/"
for gzip in 0 1; do
    rm -f "$TMP/got"
    "$send" "otlp:otlp:url=http://127.0.0.1:$port;gzip=$gzip" >"$TMP/sent" <<EOF2
put $TMP/x.pb.gz 1 __name__=process_cpu service_name=shop namespace=market pod=cart-0 container=app
flush 20000
stats
EOF2
    expect_stat 0 .sent 1
    "$PYTHON" $here/otlp_check.py "$TMP/got" "$TMP/x.pb.gz" || fail "it is not what was recorded (gzip=$gzip)"
done
