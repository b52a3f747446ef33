#!/bin/bash
# How soon `xprof agent` has what is new: a container's first sample, and an annotation's first profile at a server.
#
#   container: from when its first process joins its cgroup, made a moment before, to the first sample of that cgroup in the
#     agent's ring, which the kernel side writes only when it has been told that it is wanted. Its pod is known by a real
#     API server for 0.2 s. The delay is ours: a sampler without any filter, at the same rate, says when the first sample
#     could have been; wall time has besides what the process waits for a CPU and for a tick.
#   annotation: from `kubectl annotate` (the PATCH) of a running, busy pod to the answer of a real Pyroscope that holds it.
set -euo pipefail
cd "$(dirname "$0")/.."
STARTS=${STARTS:-300}
NOTES=${NOTES:-30}
# shellcheck source=bench/lib/agent.sh
. bench/lib/agent.sh latency
e2e/kube/build.sh --find >/dev/null 2>&1 || skip_bench "the cluster's programs are not built (e2e/kube/build.sh)"
. e2e/faults/node.sh
. e2e/faults/sum.sh
OUT=short build_target layout >&2
gcc -O2 -o "$TMP/start" bench/targets/start.c
gcc -D_GNU_SOURCE -std=gnu11 -O2 -I. -o "$TMP/ring" e2e/faults/ring.c
start_node >&2

# The value below which so many percent of the lines are.
percentile() { # PERCENT FILE
    sort -g "$2" | awk -v p="$1" '{ v[NR] = $1 } END { i = int((NR * p + 99) / 100); print v[i < 1 ? 1 : i] }'
}
verdict() { # NAME OURS REFERENCE GOAL|-, all in ms
    awk -v n="$1" -v a="$2" -v r="$3" -v g="$4" 'BEGIN {
        goal = "-"; verdict = "-"; ratio = "-"
        if (g != "-") { goal = "<= " g " ms"; verdict = a + 0 <= g + 0 ? "pass" : "fail" }
        if (r > 0) ratio = sprintf("%.2f", a / r)
        printf "%s, %s ms, %s ms, %s, %s, %s\n", n, a, r, ratio, goal, verdict }'
}
stop_agent() {
    kill -TERM "$agent_pid"
    wait "$agent_pid" || true
}

start_node_agent --rate 499 --max-cpu 100
soon curl -sf "$page/readyz" >&2
"$XPROF" record --no-cache -a -F 499 -o "$TMP/all.collapsed" 2>/dev/null &
all=$!
at_exit "kill $all"
await test -e "/proc/$all/fd/40"
sleep 1
watch() { # PID FILE: sets ring
    "$TMP/ring" "$1" >"$2" &
    ring=$!
    at_exit "kill $ring"
    await grep -q watching "$2"
}
watch $all "$TMP/possible"
rings=$ring
watch "$agent_pid" "$TMP/seen"
by=$("$XPROF" check 2>/dev/null | sed -n 's/.*containers are identified by //p') # a hierarchy of version 1
tree=/sys/fs/cgroup/${by:-unified}
[ -d "$tree" ] || tree=/sys/fs/cgroup
node churn new "$STARTS" $((STARTS / 10)) "$TMP/start" "$TMP/begun" 200 "$tree"
sleep 1
kill -TERM $rings $ring
wait $rings
wait $ring
kill -TERM $all
wait $all || true
awk -v late="$TMP/late" -v wall="$TMP/wall" '
    FILENAME ~ /possible$/ { if ($1 == "sample") possible[$2] = $4; next }
    FILENAME ~ /seen$/ { if ($1 == "sample") first[$2] = $4; next }
    !($2 in first) { missed++; next }
    { printf "%.1f\n", (first[$2] - possible[$1]) / 1e6 >late; printf "%.1f\n", (first[$2] - $3) / 1e6 >wall }
    END { print missed + 0 " containers without a sample" >"/dev/stderr" }' "$TMP/possible" "$TMP/seen" "$TMP/begun"
verdict "container start to first sample; our delay: p99 of $STARTS (reference: p50)" "$(percentile 99 "$TMP/late")" \
    "$(percentile 50 "$TMP/late")" 100
verdict "container start to first sample; wall time: p99 of $STARTS (reference: p50)" "$(percentile 99 "$TMP/wall")" \
    "$(percentile 50 "$TMP/wall")" -
stop_agent

if ! e2e/pyroscope/get.sh --find >/dev/null 2>&1; then
    echo "annotation to Pyroscope, skip: it is not built (e2e/pyroscope/get.sh)"
    end_node
    exit 0
fi
server=4040 # the cluster's loopback is its own
inside "$PWD/e2e/pyroscope/start.sh" v2 "$TMP/server" $server
at_exit "kill -KILL $(cat "$TMP/server/pid")"
node make web "$NOTES" 1 xprof.io/service-name=bench
node busy web "$NOTES" "sh -c 'while :; do $TMP/short 10; sleep 0.5; done'" # a sample each time
INTERVAL=10s start_node_agent --rate 99 --max-cpu 100 --pyroscope-url http://127.0.0.1:$server
soon curl -sf "$page/readyz" >&2
touch "$TMP/noted"
cat >"$TMP/poll.py" <<'EOF'
import http.client, json, sys, time
waiting, seen = {}, set()
while len(seen) < int(sys.argv[3]):
    for line in open(sys.argv[2]):
        pod, ms = line.split()
        if pod not in seen:
            waiting[pod] = int(ms)
    for pod in list(waiting):
        now = int(time.time() * 1000)
        c = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=30)
        c.request("POST", "/querier.v1.QuerierService/SelectMergeStacktraces", json.dumps({
            "profileTypeID": "process_cpu:cpu:nanoseconds:cpu:nanoseconds", "start": now - 600000, "end": now + 60000,
            "labelSelector": '{service_name="bench",pod="%s"}' % pod}), {"Content-Type": "application/json"})
        if int(json.loads(c.getresponse().read()).get("flamegraph", {}).get("total", 0)):
            print(int(time.time() * 1000) - waiting.pop(pod), flush=True)
            seen.add(pod)
        c.close()
    time.sleep(0.05)
EOF
"$cluster/in" /usr/bin/python3 "$TMP/poll.py" $server "$TMP/noted" "$NOTES" >"$TMP/noticed" &
poller=$!
at_exit "kill $poller"
for ((i = 0; i < NOTES; i++)); do
    echo "web-$i $(date +%s%3N)" >>"$TMP/noted"
    node note web $((i + 1)) xprof.io/profile=true 2>/dev/null # those before have it already
    sleep 0.7                                                  # at any moment of the interval
done
wait $poller
verdict "annotation to Pyroscope: p99 of $NOTES (interval 10 s; reference: p50)" "$(percentile 99 "$TMP/noticed")" \
    "$(percentile 50 "$TMP/noticed")" 13000
stop_agent
end_node
