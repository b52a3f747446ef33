# shellcheck shell=bash disable=SC2034,SC2153,SC2154
# A real API server, and a node full of pods without a kubelet (node.py), and an agent that knows pods by the API server. To
# be sourced after e2e/lib.sh and e2e/agent/lib.sh.

need openssl curl python3 nsenter ip gcc
e2e/kube/build.sh --find >/dev/null 2>&1 || skip "the cluster's programs are not built: e2e/kube/build.sh"
cluster=$TMP/c
folder=/xprof-faults-$$

inside() {
    "$cluster/in" "$@"
}
curl() { # the cluster's loopback is its own
    inside curl "$@"
}
kubectl() {
    inside kubectl "$@" >/dev/null
}

start_node() {
    at_exit "e2e/kube/down.sh $cluster"
    e2e/kube/up.sh "$cluster" api
    kubectl create clusterrole agent --verb=list,watch --resource=pods,namespaces
    kubectl create clusterrolebinding agent --clusterrole=agent --user=agent
    cat >"$TMP/kubeconfig" <<EOF2
apiVersion: v1
kind: Config
clusters: [{name: a, cluster: {server: "https://10.77.0.1", certificate-authority: "$cluster/pki/ca.crt"}}]
users: [{name: a, user: {tokenFile: "$TMP/token"}}]
contexts: [{name: a, context: {cluster: a, user: a}}]
current-context: a
EOF2
    cp "$cluster/pki/agent.token" "$TMP/token"
    local tree trees=/sys/fs/cgroup
    if [ -d /sys/fs/cgroup/unified ]; then
        trees=/sys/fs/cgroup/unified
        for tree in pids cpu; do [ ! -d /sys/fs/cgroup/$tree ] || trees+=,/sys/fs/cgroup/$tree; done
    fi
    coproc NODE { exec "$cluster/in" /usr/bin/python3 "$PWD/e2e/faults/node.py" https://10.77.0.1 "$cluster/pki/admin.token" "$trees" "$folder" 2>"$TMP/node"; }
    node_pid=$NODE_PID node_to=${NODE[1]} node_from=${NODE[0]}
    at_exit "kill $node_pid; wait $node_pid"
}
node() { # COMMAND of node.py: what it answers
    local line
    echo "$*" >&"$node_to"
    read -r -t 280 line <&"$node_from" || fail "node.py does not answer: $(tail -n 3 "$TMP/node")"
    [[ $line == ok* ]] || fail "node.py: $line"
    echo "$1: ${line#ok }" >&2
}
end_node() {
    exec {node_to}>&- {node_from}<&-
    wait "$node_pid"
}

start_node_agent() { # OPTION...
    "$cluster/in" "$XPROF" agent --output-dir "$out" --state-dir "$state" --cache-dir "$TMP/cache" --interval "${INTERVAL:-1s}" \
        --listen "127.0.0.1:$port" --exclusive=off --cri-socket none --kubeconfig "$TMP/kubeconfig" --node-name node1 "$@" \
        2>"$errors" &
    agent_pid=$! # nsenter and env become it
    at_exit "kill -KILL $agent_pid"
    await curl -sf "$page/healthz"
}
