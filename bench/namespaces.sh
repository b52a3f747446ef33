#!/bin/bash
# The agent's start in a cluster of ten thousand namespaces, on a node with 250 pods, that is 500 cgroups: CPU time of the
# threads that read and decide, memory, decisions; and what it asks of the API server, whose stand-in replays the lists
# (targets/apiserver.py). The reference is the same in a cluster of ten namespaces.
set -euo pipefail
cd "$(dirname "$0")/.."
NAMESPACES=${NAMESPACES:-10000}
PODS=${PODS:-250}
# shellcheck source=bench/lib/agent.sh
. bench/lib/agent.sh namespaces
tree=/sys/fs/cgroup/unified
[ -d $tree ] || tree=/sys/fs/cgroup
folder=$tree/xprof-namespaces-$$
mkdir $folder
at_exit "rmdir $folder"

api() { # COMMAND of apiserver.py: its answer
    echo "$1" >&"$api_to"
    read -r -t 60 answer <&"$api_from" || fail "the stand-in of the API server does not answer"
}
start_api() { # NAMESPACES
    coproc API { exec /usr/bin/python3 bench/targets/apiserver.py "$1" "$PODS" 1 $folder; }
    # shellcheck disable=SC2153 # coproc sets it
    api_pid=$API_PID api_to=${API[1]} api_from=${API[0]}
    at_exit "kill $api_pid; wait $api_pid"
    read -r -t 60 answer <&"$api_from" || fail "the stand-in of the API server does not start"
    cat >"$TMP/kubeconfig" <<EOF2
apiVersion: v1
kind: Config
clusters: [{name: a, cluster: {server: "http://127.0.0.1:$answer"}}]
users: [{name: a, user: {token: any}}]
contexts: [{name: a, context: {cluster: a, user: a}}]
current-context: a
EOF2
}
all_known() {
    [ "$(metric xprof_namespaces)" = "$1" ] && [ "$(metric xprof_kube_lists_total)" = 2 ]
}
cpu_ms() { # of the threads that talk to the API server and decide
    local thread
    for thread in "/proc/$agent_pid/task"/*; do
        case $(cat "$thread/comm") in namespaces | pods | discover) cat "$thread/schedstat" ;; esac
    done | awk '{ n += $1 } END { printf "%d", n / 1e6 }'
}
memory_kib() { # anonymous, of the agent alone
    awk '/^Anonymous:/ { print $2 }' "/proc/$agent_pid/smaps_rollup"
}
measure() { # NAMESPACES: $cpu, $memory, $verdicts, $stats at start; $change, CPU of 1,000 changes of namespaces
    start_api "$1"
    start_agent --kubeconfig "$TMP/kubeconfig" --node-name node1 --targeting all --host-processes off
    await all_known "$1"
    sleep 1
    cpu=$(cpu_ms) memory=$(memory_kib) verdicts=$(metric xprof_verdicts_total)
    api stats
    stats=$answer
    api "note 1000"
    sleep 2
    change=$(($(cpu_ms) - cpu))
    end_agent
    kill "$api_pid"
    wait "$api_pid" || true
}
result() { # NAME OURS UNIT REFERENCE GOAL
    awk -v n="$1" -v a="$2" -v u="$3" -v r="$4" -v g="$5" 'BEGIN {
        printf "%s, %s %s, %s %s, %.2f, <= %s %s, %s\n", n, a, u, r, u, r ? a / r : 0, g, u, a <= g ? "pass" : "fail" }'
}

measure 10
few_cpu=$cpu few_memory=$memory few_verdicts=$verdicts few_change=$change
measure "$NAMESPACES"
echo "at start, $NAMESPACES namespaces: $stats" >&2
result "$NAMESPACES namespaces: CPU at start" "$cpu" ms "$few_cpu" 1000
result "$NAMESPACES namespaces: memory" "$memory" KiB "$few_memory" $((few_memory + 4096))
result "$NAMESPACES namespaces: decisions at start" "$verdicts" "" "$few_verdicts" $((2 * few_verdicts))
result "$NAMESPACES namespaces: CPU of 1000 changes" "$change" ms "$few_change" 500
