#!/bin/bash
# A real Prometheus scrapes the agent: it asks for OpenMetrics, understands every line of it, and keeps the same series as of
# the older text format, each under the type that the page says.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need prometheus
. e2e/agent/lib.sh

start_agent --events cpu,disk
file=$(mktemp "$PWD/disk.XXXXXX")
at_exit "rm -f '$file'"
has_histogram() {
    dd if=/dev/zero of="$file" bs=4k count=1 conv=fsync 2>/dev/null
    curl -sf "$page/metrics" | grep -c '^xprof_disk_request_seconds_bucket'
}
await has_histogram
curl -sf -H 'Accept: application/openmetrics-text;version=1.0.0' -D "$TMP/head" "$page/metrics" >"$TMP/open"
grep -qi '^content-type: application/openmetrics-text; *version=1.0.0' "$TMP/head" || fail "it is called $(cat "$TMP/head")"

own=$((20000 + RANDOM % 12000))
cat >"$TMP/prometheus.yml" <<EOF
global: {scrape_interval: 1s, scrape_timeout: 1s}
scrape_configs: [{job_name: xprof, static_configs: [{targets: ["127.0.0.1:$port"]}]}]
EOF
prometheus --config.file="$TMP/prometheus.yml" --storage.tsdb.path="$TMP/tsdb" --web.listen-address="127.0.0.1:$own" \
    2>"$TMP/prometheus.log" &
prometheus=$!
at_exit "kill -KILL $prometheus"
asked() { # PATH
    curl -sf "http://127.0.0.1:$own/api/v1/$1"
}
up() {
    asked 'query?query=up' | jq -e '.data.result[0].value[1] == "1"'
}
for _ in 1 2 3; do if (await up) 2>/dev/null; then break; fi; done
await up
# Counters are known without _total, as only OpenMetrics says them; each is there under the type that the page says.
asked 'targets/metadata?limit=1000' | jq -r '.data[] | "\(.metric) \(.type)"' | sort >"$TMP/known"
sed -nE 's/^# TYPE ([a-z_0-9]+) ([a-z]+)$/\1 \2/p' "$TMP/open" | sort >"$TMP/said"
[ "$(comm -13 "$TMP/known" "$TMP/said")" = "" ] || fail "Prometheus does not know $(comm -13 "$TMP/known" "$TMP/said" | head -n 3)"
asked 'query?query=xprof_samples_total' | jq -e '.data.result | length == 1' >"$TMP/out" || fail "no counter under its name"
asked 'query?query=count(%7B__name__=~%22xprof_.*%22%7D)' | jq -r '.data.result[0].value[1]' >"$TMP/series"
lines=$(grep -c '^xprof_' "$TMP/open")
[ "$(cat "$TMP/series")" -ge $((lines - 20)) ] || fail "$(cat "$TMP/series") series of $lines lines"
echo "$(wc -l <"$TMP/said") families, $(cat "$TMP/series") series by OpenMetrics"
end_agent
