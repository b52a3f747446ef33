#!/bin/bash
# Every query of every dashboard, on what an agent in a real cluster sends to a real Pyroscope (STORAGE=v1|v2) and tells a
# real Prometheus: all return data, flame graphs the functions of the pod.   As e2e/install/test.sh.
set -euo pipefail
. e2e/install/lib.sh
need promtool prometheus python3
dashboards=$PWD/deploy/helm/xprof/dashboards
mapfile -t names < <(basename -s .json "$dashboards"/*.json)

workload_images
xprof_image
start_cluster
install_chart --set config.interval=3s
kubectl -n xprof get configmap -l grafana_dashboard=1 -o name | sort >"$TMP/configmaps"
[ "$(wc -l <"$TMP/configmaps")" = ${#names[@]} ] || fail "there are other dashboards than: $(cat "$TMP/configmaps")"
kubectl apply -f "$PWD/e2e/install/workloads/pods.yaml" -f "$PWD/e2e/install/workloads/cache.yaml" >/dev/null
kubectl -n shop rollout status deploy/web --timeout=60s
kubectl -n shop rollout status deploy/cache --timeout=60s

# What Prometheus asks for, in both formats.
agent metrics >"$TMP/metrics"
promtool check metrics <"$TMP/metrics" || fail "promtool has a complaint about /metrics"
curl -sf -H 'Accept: application/openmetrics-text; version=1.0.0' "http://$(agent_address):7055/metrics" >"$TMP/openmetrics"
[ "$(tail -n 1 "$TMP/openmetrics")" = '# EOF' ] || fail "no OpenMetrics were served"

cat >"$TMP/prometheus.yml" <<END
global: {scrape_interval: 2s}
scrape_configs:
  - {job_name: xprof, static_configs: [{targets: ["$(agent_address):7055"]}]}
  - job_name: kubelet
    scheme: https
    metrics_path: /api/v1/nodes/node1/proxy/metrics/resource
    authorization: {credentials_file: $cluster/pki/admin.token}
    tls_config: {ca_file: $cluster/pki/ca.crt}
    static_configs: [{targets: ["10.77.0.1:443"]}]
END
inside prometheus --config.file="$TMP/prometheus.yml" --storage.tsdb.path="$TMP/prometheus" \
    --web.listen-address=127.0.0.1:9090 >"$TMP/prometheus.log" 2>&1 &
at_exit "kill -KILL $!"

check() { # DASHBOARD OPTION...
    local name=$1
    shift
    inside python3 "$PWD/e2e/grafana/check.py" "$dashboards/$name.json" --pyroscope $url \
        --prometheus http://127.0.0.1:9090 "$@" >"$TMP/check" 2>&1
}
expect_data() { # SECONDS DASHBOARD OPTION...
    local end=$((SECONDS + $1)) rc
    shift
    echo "-- $*"
    while :; do
        rc=0
        check "$@" || rc=$?
        if [ $rc != 3 ] || [ $SECONDS -ge $end ]; then break; fi # 3: not yet
        sleep 1
    done
    cat "$TMP/check"
    [ $rc = 0 ] || fail "a query of $1 fails"
}
pod=$(kubectl -n shop get pod -l app=web -o jsonpath='{.items[0].metadata.name}')
functions=(--function render --function encode --function handle_request)
expect_data 60 xprof-pod --choose service=web "${functions[@]}"
expect_data 60 xprof-pod --choose service=web --choose namespace=shop --choose workload=web --choose pod="$pod" \
    --choose container=main "${functions[@]}"
expect_data 60 xprof-pod --choose "service=order store" --function main.compact
expect_data 180 xprof-node --choose service=web "${functions[@]}" # v2 storage: after its compaction
expect_data 60 xprof-node --choose service=web --choose node=node1 "${functions[@]}"
expect_data 60 xprof-resources --choose service=cache --choose container=main --function remember --function answer
expect_data 60 xprof-agent
curl -sf 'http://127.0.0.1:9090/api/v1/targets' | jq -e '.data.activeTargets | length == 2 and all(.health == "up")' >/dev/null ||
    fail "Prometheus cannot read the metrics of the agent and the kubelet"
echo "every panel of ${names[*]} shows something"

# Grafana's own component draws the pod's flame graph. PICTURE names a file to keep.
page=$(e2e/grafana/page.sh --find) || { echo "not drawn: e2e/grafana/page.sh" && exit 0; }
browser=$(command -v chromium-headless-shell || command -v chromium) || { echo "not drawn: no chromium" && exit 0; }
mkdir -p "$TMP/server/ui/dist/assets" # Pyroscope serves what is there: the same origin as its API
cp -r "$page" "$TMP/server/ui/dist/assets/panel"
draw() { # SELECTOR TYPE OPTION...
    local selector=$1 type=$2
    shift 2
    inside timeout 90 "$browser" --headless --no-sandbox --disable-gpu --disable-quic --disable-background-networking \
        --disable-component-update --disable-sync --no-first-run --user-data-dir="$TMP/browser" --window-size=1400,900 \
        --virtual-time-budget=10000 "$@" \
        "$url/assets/panel/panel.html?type=$type&selector=$selector" \
        2>>"$TMP/browser.log"
}
see() { # PICTURE SELECTOR TYPE FUNCTION
    draw "$2" "$3" --dump-dom >"$TMP/dom"
    grep -q ">$4<" "$TMP/dom" || fail "$4 is not on the page: $(tail -n 3 "$TMP/browser.log")"
    grep -q '<canvas' "$TMP/dom" || fail "there is no flame graph on the page"
    draw "$2" "$3" --screenshot="$1"
    echo "drawn: $1"
}
see "${PICTURE:-$TMP/flamegraph.png}" "{service_name=\"web\",pod=\"$pod\",container=\"main\"}" "$cpu" spin
# What leaks is the widest frame of what is in use.
see "${PICTURE:-$TMP/flamegraph}.memory.png" '{service_name="cache",container="main"}' memory:inuse_space:bytes:space:bytes remember
