#!/bin/bash
# Real Go programs, stripped, with and without C: the compiler at work, and a server of Debian's under load.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need go curl

export GOFLAGS=-buildvcs=false GOCACHE=$TMP/cache GOTOOLCHAIN=local CGO_ENABLED=0
HZ=499 record -- go build -a -o /dev/null fmt sort
expect_samples 300
expect_complete 98.5
expect_stack 'runtime\.goexit;runtime\.main;main\.main;cmd/compile/internal/gc\.Main;.*' "$profile" 50

server=/usr/bin/prometheus
[ -x $server ] || skip "there is no $server; the compiler is all that was looked at"
free_ports
cat >"$TMP/prometheus.yml" <<YML
global: {scrape_interval: 100ms}
scrape_configs: [{job_name: self, static_configs: [{targets: ["127.0.0.1:$port"]}]}]
YML
$server --config.file="$TMP/prometheus.yml" --storage.tsdb.path="$TMP/data" --web.listen-address=127.0.0.1:$port \
    >"$TMP/log" 2>&1 &
pid=$!
at_exit "kill $pid; wait $pid"
await curl -sf "http://127.0.0.1:$port/-/ready"
ask() {
    while curl -s "http://127.0.0.1:$port/metrics" "http://127.0.0.1:$port/api/v1/series?match[]=up" >/dev/null; do :; done
}
ask &
at_exit "kill $!"
HZ=499 record -d 3s -p $pid
expect_samples 100
expect_complete 98.5
expect_stack 'runtime\.goexit;.*net/http\.\(\*conn\)\.serve;.*' "$profile" 20
