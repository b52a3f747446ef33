#!/bin/bash
# A whole node, with kubelet and containerd: containers have the ids that the runtime gives them, workloads are named, and
# the kubelet by itself tells the same as the API server. MODE and CONTAINERD as in e2e/kube/up.sh.
set -euo pipefail
. e2e/lib.sh
need_root
need openssl curl python3 nsenter ip runc busybox

e2e/kube/build.sh --find >/dev/null 2>&1 || skip "the cluster's programs are not built: e2e/kube/build.sh"
[ -x /usr/lib/cni/bridge ] || skip "there are no CNI plugins (containernetworking-plugins)"
watch=${KUBE_WATCH:-${XPROF%/*}/kube-watch}
[ -x "$watch" ] || fail "$watch is not built"
cluster=$TMP/c
heard=$TMP/heard
at_exit "e2e/kube/down.sh $cluster"
e2e/kube/up.sh "$cluster"

kubectl() {
    "$cluster/in" kubectl "$@"
}
field() { # OBJECT JSONPATH
    kubectl get "$1" -o "jsonpath={$2}"
}

kubectl create clusterrole agent --verb=list,watch --resource=pods,namespaces >"$TMP/out"
kubectl create clusterrolebinding agent --clusterrole=agent --user=agent >"$TMP/out"
kubectl create clusterrole modest --verb=get --resource=nodes/proxy >"$TMP/out"
kubectl create clusterrolebinding modest --clusterrole=modest --user=modest >"$TMP/out"

template() { # LABEL COMMAND
    cat <<EOF
metadata: {labels: {app: $1}, annotations: {xprof.io/profile: "true"}}
    spec:
      terminationGracePeriodSeconds: 1
      restartPolicy: ${3:-Always}
      containers: [{name: main, image: "registry.local/box:1", imagePullPolicy: Never, command: [/bin/sh, -c, "$2"]}]
EOF
}
sleeper='trap exit TERM; while :; do sleep 1; done'
for kind in Deployment StatefulSet DaemonSet; do
    name=$(echo "a-$kind" | tr 'DS' 'ds' | tr '[:upper:]' '[:lower:]')
    cat <<EOF
apiVersion: apps/v1
kind: $kind
metadata: {name: $name}
spec:
  selector: {matchLabels: {app: $name}}
  template:
    $(template "$name" "$sleeper")
---
EOF
done >"$TMP/objects"
cat >>"$TMP/objects" <<EOF
apiVersion: batch/v1
kind: Job
metadata: {name: a-cronjob-29487930}
spec:
  template:
    $(template job "$sleeper" Never)
---
apiVersion: v1
kind: Pod
metadata: {name: a-crasher, labels: {app: crasher}}
spec:
  terminationGracePeriodSeconds: 1
  initContainers: [{name: first, image: "registry.local/box:1", imagePullPolicy: Never, command: [/bin/true]}]
  containers: [{name: main, image: "registry.local/box:1", imagePullPolicy: Never, command: [/bin/sh, -c, "sleep 1"]}]
EOF
cat >"$cluster/manifests/static.yaml" <<EOF
apiVersion: v1
kind: Pod
metadata: {name: a-static}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: main, image: "registry.local/box:1", imagePullPolicy: Never, command: [/bin/sh, -c, "$sleeper"]}]
EOF
"$cluster/in" "$watch" node1 https://10.96.0.1 "$cluster/pki/ca.crt" "$cluster/pki/agent.token" >"$heard" 2>"$errors" &
watcher=$!
at_exit "kill -KILL $watcher"
kubectl apply -f "$TMP/objects" >"$TMP/out"

# What was heard of each workload, its container running, is what the runtime says.
told() { # REGEX
    grep -qE "$1" "$heard"
}
soon() { # COMMAND...: half a minute, as images are unpacked and two cores are busy
    local i
    for ((i = 0; i < 2; i++)); do
        if (await "$@") 2>/dev/null; then return; fi
    done
    await "$@"
}
id='[0-9a-f]{64}'
soon told "^pod default/a-deployment-[^ ]+ .* main=$id Deployment/a-deployment$"
soon told "^pod default/a-statefulset-0 .* main=$id StatefulSet/a-statefulset$"
soon told "^pod default/a-daemonset-[^ ]+ .* main=$id DaemonSet/a-daemonset$"
soon told "^pod default/a-cronjob-29487930-[^ ]+ .* main=$id CronJob/a-cronjob$"
soon told "^pod default/a-static-node1 .* main=$id /$"
kubectl rollout status deployment/a-deployment --timeout=30s >"$TMP/out"
running=$("$cluster/in" ctr -n k8s.io tasks ls -q)
for name in a-deployment a-statefulset a-daemonset a-cronjob a-static; do
    container=$(grep "^pod default/$name" "$heard" | tail -n 1 | grep -oE "main=$id" | cut -d= -f2)
    grep -q "$container" <<<"$running" || fail "$name: $container does not run"
done
echo "workloads: ok"

# A static pod has two uids; cgroups and the runtime know the second.
uids=$(grep "^pod default/a-static" "$heard" | tail -n 1 | cut -d' ' -f3,4)
[ "${uids% *}" != "${uids#* }" ] || fail "a static pod with one uid: $uids"
container=$(grep "^pod default/a-static" "$heard" | tail -n 1 | grep -oE "main=$id" | cut -d= -f2)
"$cluster/in" ctr -n k8s.io containers info "$container" | grep -q "\"io.kubernetes.pod.uid\": \"${uids#* }\"" ||
    fail "the runtime does not know ${uids#* }"
echo "static pod: ok"

# A container that starts again has another id; an init container has one, too.
restarted() {
    [ "$(grep '^pod default/a-crasher' "$heard" | grep -oE "main=$id" | sort -u | wc -l)" -ge 2 ]
}
soon restarted
told "^pod default/a-crasher .*first=$id"
echo "restarts: ok"

# The kubelet alone.
"$cluster/in" env POLL_MS=300 FORGET_MS=4000 "$watch" node1 https://10.77.0.1:10250 "" "$cluster/pki/modest.token" kubelet \
    >"$TMP/kubelet" 2>"$errors" &
second=$!
at_exit "kill -KILL $second"
soon grep -q '^synced pods' "$TMP/kubelet"
for name in a-deployment a-statefulset a-daemonset a-cronjob; do
    [ "$(grep "^pod default/$name" "$heard" | tail -n 1)" = "$(grep "^pod default/$name" "$TMP/kubelet" | tail -n 1)" ] ||
        fail "$name: the kubelet says $(grep "^pod default/$name" "$TMP/kubelet")"
done
gone=$(field pod/a-statefulset-0 .metadata.uid)
kubectl delete statefulset a-statefulset >"$TMP/out"
soon grep -q "^gone $gone" "$heard"
soon grep -q "^gone $gone" "$TMP/kubelet"
# A kubelet that finds its cgroups without the controller cpu, as MODE=v2 has them here, does not start again.
if [ "${MODE:-hybrid}" != v2 ]; then
    e2e/kube/restart.sh "$cluster" kubelet kill
    soon grep -q '^problem pods from https://10.77.0.1:10250' "$TMP/kubelet"
    e2e/kube/restart.sh "$cluster" kubelet start
    syncs=$(grep -c '^synced' "$TMP/kubelet")
    more() {
        [ "$(grep -c '^synced' "$TMP/kubelet")" -gt $((syncs + 15)) ]
    }
    soon more
    [ "$(grep -c '^gone' "$TMP/kubelet")" = 1 ] || fail "a kubelet that restarts empties what is known"
fi
echo "kubelet: ok"
kill "$watcher" "$second"
wait "$watcher" "$second" || fail "it did not end well"
