#!/bin/bash
# The agent's own pages: metrics that promtool has nothing against, in both formats, readiness that says why not.
set -euo pipefail
. e2e/lib.sh
need_root
need promtool
. e2e/agent/lib.sh

start_agent
curl -sf "$page/metrics" >"$TMP/metrics"
promtool check metrics <"$TMP/metrics" || fail "promtool has something against it"
curl -sf -H 'Accept: application/openmetrics-text;version=1.0.0' "$page/metrics" >"$TMP/open"
tail -n 1 "$TMP/open" | grep -qx '# EOF' || fail "OpenMetrics has no end"
grep -q '^# TYPE xprof_samples counter' "$TMP/open" || fail "OpenMetrics calls a family by its sample"
[ "$(metric xprof_build_info)" = 1 ] || fail "no build info"
sampled() {
    [ "$(metric xprof_samples_total)" -gt 50 ] && is "$(metric xprof_cpu_seconds_total worker)" '>' 0
}
build_target layout
"$TMP/layout" 4000 &
await sampled
# It times its own unwinding; the kernel's run time statistics would slow down every eBPF program of the machine: they are
# on for a slice of every ten seconds, the first one soon after the start.
is "$(metric xprof_cpu_seconds_total unwind)" '>' 0 || fail "unwinding is not measured"
has_run_time_statistics() { # PID
    [ -n "$(find "/proc/$1/fd" -lname '*bpf-stats*' 2>/dev/null || true)" ] # other descriptors come and go meanwhile
}
on=0
for _ in {1..20}; do
    if has_run_time_statistics "$agent_pid"; then on=$((on + 1)); fi
    sleep 0.1
done
[ "$on" -le 10 ] || fail "it has the kernel's run time statistics on at $on of 20 looks"
record_in_background -a -d 60s
has_run_time_statistics "$xprof" || fail "a recording with a summary has not: this test sees nothing"
kill -INT "$xprof"
wait "$recorder"
[ "$(curl -s -o /dev/null -w '%{http_code}' "$page/healthz")" = 200 ] || fail "not healthy"
[ "$(curl -s -o /dev/null -w '%{http_code}' -X POST "$page/metrics")" = 405 ] || fail "it takes a POST"
[ "$(curl -s -o /dev/null -w '%{http_code}' "$page/nowhere")" = 404 ] || fail "there is a page for everything"
curl -sf "$page/targets" | jq -e 'type == "array"' >/dev/null || fail "/targets is no list"
end_agent

# A server that nobody listens at: the agent is ready, for it samples; /readyz?exports says what is wrong.
"$XPROF" agent --pyroscope-url http://127.0.0.1:1 --state-dir "$TMP/s2" --cache-dir "$TMP/cache" --interval 1s \
    --listen "127.0.0.1:$port" --exclusive=off --cri-socket none 2>"$errors" &
agent_pid=$!
at_exit "kill -KILL $agent_pid"
unready() { # PAGE
    [ "$(curl -s -o "$TMP/ready" -w '%{http_code}' "$page/$1")" = 503 ]
}
await curl -sf "$page/readyz"
profiles_wait() {
    curl -sf "$page/metrics" | grep -q '^xprof_export_up{exporter="pyroscope"} 0'
}
await profiles_wait
curl -sf "$page/readyz" >/dev/null || fail "not ready because of a server"
unready 'readyz?exports' || fail "profiles get through to nobody"
grep -q 'no exporter gets through' "$TMP/ready" || fail "it does not say why"
[ "$(curl -s -o /dev/null -w '%{http_code}' "$page/healthz")" = 200 ] || fail "not healthy without a server"
end_agent
grep -q 'pyroscope: unreachable' "$errors" || fail "the log does not name the server's trouble"

# Who knows pods by the container runtime alone is not ready without it.
"$XPROF" agent --output-dir "$out" --state-dir "$TMP/s3" --cache-dir "$TMP/cache" --listen "127.0.0.1:$port" \
    --exclusive=off --kube cri --cri-socket "$TMP/no.sock" 2>"$errors" &
agent_pid=$!
at_exit "kill -KILL $agent_pid"
without_runtime() {
    unready readyz && grep -q 'the pods of this node are not known yet: .*no.sock' "$TMP/ready"
}
await without_runtime
[ "$(metric xprof_runtime_calls_total '"ok"')" = 0 ] || fail "a runtime that is not there has answered"
[ "$(metric xprof_runtime_calls_total '"unreachable"')" -ge 1 ] || fail "no call to the runtime has failed"
outcomes=$(curl -sf "$page/metrics" | sed -nE 's/^xprof_runtime_calls_total\{outcome="(.*)"\} .*/\1/p' | sort | xargs)
[ "$outcomes" = "failed malformed ok timeout unreachable" ] || fail "calls to the runtime end as $outcomes"
end_agent
