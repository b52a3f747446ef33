#!/bin/bash
# A real kubelet, which alone tells of pods, is killed and started again: who asked stays profiled, under its names, and who
# comes later is known.
set -euo pipefail
. e2e/lib.sh
need_root
need openssl curl python3 nsenter ip runc busybox
. e2e/agent/lib.sh
. e2e/faults/sum.sh

e2e/kube/build.sh --find >/dev/null 2>&1 || skip "the cluster's programs are not built: e2e/kube/build.sh"
[ -x /usr/lib/cni/bridge ] || skip "there are no CNI plugins (containernetworking-plugins)"
cluster=$TMP/c
at_exit "e2e/kube/down.sh $cluster"
e2e/kube/up.sh "$cluster"
curl() { # the cluster's loopback is its own
    "$cluster/in" curl "$@"
}
kubectl() {
    "$cluster/in" kubectl "$@" >/dev/null
}
kubectl create clusterrole modest --verb=get --resource=nodes/proxy
kubectl create clusterrolebinding modest --clusterrole=modest --user=modest

pod() { # NAME [ANNOTATION]: a busy shell
    cat <<EOF | "$cluster/in" kubectl apply -f - >/dev/null
apiVersion: v1
kind: Pod
metadata: {name: $1, annotations: {${2:-}}}
spec:
  terminationGracePeriodSeconds: 0
  hostNetwork: true
  containers: [{name: main, image: "registry.local/box:1", imagePullPolicy: Never,
    command: [/bin/sh, -c, "while :; do i=0; while [ \$i -lt 2000 ]; do i=\$((i+1)); done; sleep 0.05; done"]}]
EOF
}
pod asks 'xprof.io/profile: "true"'
pod silent
cat >"$TMP/kubeconfig" <<EOF
apiVersion: v1
kind: Config
clusters: [{name: k, cluster: {server: "https://10.77.0.1:10250", insecure-skip-tls-verify: true}}]
users: [{name: k, user: {tokenFile: "$cluster/pki/modest.token"}}]
contexts: [{name: k, context: {cluster: k, user: k}}]
current-context: k
EOF
"$cluster/in" "$XPROF" agent --output-dir "$out" --state-dir "$state" --cache-dir "$TMP/cache" --interval 1s --rate 499 \
    --max-cpu 100 --listen "127.0.0.1:$port" --exclusive=off --cri-socket none --kube kubelet --kubelet-insecure \
    --kubelet-url https://10.77.0.1:10250 --kubeconfig "$TMP/kubeconfig" --node-name node1 2>"$errors" &
agent_pid=$! # nsenter and env become it
at_exit "kill -KILL $agent_pid"

samples() {
    metric xprof_samples_total
}
grows() { # FROM
    [ "$(samples)" -gt $(($1 + 100)) ]
}
soon has_profiles default/asks/main
failed() { # FROM: calls to the kubelet
    [ "$(metric xprof_kube_errors_total)" -gt "$1" ]
}
errors_before=$(metric xprof_kube_errors_total)
e2e/kube/restart.sh "$cluster" kubelet kill
soon failed "$errors_before"
before=$(samples)
soon grows "$before"
e2e/kube/restart.sh "$cluster" kubelet start
pod later 'xprof.io/profile: "true"'
before=$(samples)
soon grows "$before"
soon has_profiles default/later/main
[ "$(curl -sf "$page/targets" | jq '[.[] | select(.kind == "container" and .profiled).labels.pod] | sort | join(" ")')" = '"asks later"' ] ||
    fail "not those two are profiled"
[ ! -e "$out/default/silent" ] || fail "a pod that did not ask has profiles"
kubectl delete pod asks later --wait=false
unwanted_for 100
expect_sum | tail -n 1
[ "$(metric xprof_profile_samples_unnamed_total)" = 0 ] || fail "samples without a name"
[ ! -e "$out/host" ] || fail "profiles of nobody: $(ls "$out/host")"
echo "kubelet killed and back: nobody forgotten, 0 samples lost, 0 of others"
end_agent
