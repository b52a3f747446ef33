#!/bin/bash
# A real Pyroscope, with both kinds of storage, shows what was put: functions, amounts, labels, tenants.
# beside others
set -euo pipefail
. e2e/lib.sh
. e2e/pyroscope/lib.sh

need_server
record_profile
labels="__name__=process_cpu service_name=shop namespace=market pod=cart-% container=app node=n1 workload_kind=Deployment"

try() { # STORAGE TENANT [FLAG...]: three pods, one of them with OTLP besides
    local storage=$1 total
    tenant=$2
    shift 2
    free_ports
    start_server "$storage" "$@"
    "$send" -s "$TMP/spool-$storage" "pyroscope:push:url=$url${tenant:+;tenant=$tenant}" \
        "otlp:otlp:url=$url;gzip=1${tenant:+;tenant=$tenant}" >"$TMP/sent" <<EOF2
put $TMP/x.pb.gz 3 $labels
flush 20000
stats
EOF2
    expect_stat 0 .sent 3
    expect_stat 1 .sent 3
    await has_nanoseconds $cpu '{service_name="shop",pod="cart-2"}' burn
    total=$(nanoseconds $cpu '{service_name="shop",namespace="market",pod="cart-0",container="app",node="n1"}')
    is "$(nanoseconds $cpu '{service_name="shop",pod="cart-0"}' burn)" '>' "$total * 0.9" ||
        fail "burn is not what most of the $total ns of $storage are spent in"
    is "$total" '>' 200000000 || fail "$total ns are less than the program took ($storage)"
    [ "$(nanoseconds $cpu '{service_name="shop",pod="cart-3"}')" = 0 ] || fail "there is a pod that nobody put"
    # OTLP's own copy: labels under OpenTelemetry's names, with dots rewritten
    await has_nanoseconds $cpu '{service_name="shop",k8s_pod_name="cart-1",k8s_container_name="app"}' burn
    kill -TERM "$server_pid"
}

try v1 ""
try v2 ""
rm -rf "$TMP/server"
try v2 team-a -auth.multitenancy-enabled=true
echo "$(stat_of 0 .sent_bytes) bytes sent for 3 profiles"
