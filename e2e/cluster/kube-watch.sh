#!/bin/bash
# The pods of a node against a real API server: what is said on pod or namespace is known at once, and whatever happens to
# the server or to our token, no pod is forgotten or invented.
set -euo pipefail
. e2e/lib.sh
need_root
need openssl curl python3 nsenter ip

e2e/kube/build.sh --find >/dev/null 2>&1 || skip "the cluster's programs are not built: e2e/kube/build.sh"
watch=${KUBE_WATCH:-${XPROF%/*}/kube-watch}
[ -x "$watch" ] || fail "$watch is not built"
cluster=$TMP/c
log=$TMP/heard
url=https://10.77.0.1
at_exit "e2e/kube/down.sh $cluster"
e2e/kube/up.sh "$cluster" api

kubectl() {
    "$cluster/in" kubectl "$@" >/dev/null 2>&1
}

pod() { # NAME [ANNOTATIONS]: a manifest
    cat <<EOF
apiVersion: v1
kind: Pod
metadata: {name: $1, annotations: {${2:-}}}
spec: {nodeName: node1, containers: [{name: app, image: app}]}
---
EOF
}

uid() { # POD
    "$cluster/in" kubectl get pod "$1" -o 'jsonpath={.metadata.uid}'
}

start_watch() { # LOG TOKEN_FILE; the others by environment
    "$cluster/in" "$watch" node1 $url "$cluster/pki/ca.crt" "$2" >"$1" 2>"$errors" &
    watcher=$!
    at_exit "kill -KILL $watcher"
}

# From `mark` on, a line was heard that matches, ten seconds at most.
mark() {
    marked=$(wc -l <"$log")
}
lines() {
    tail -n "+$((marked + 1))" "$log"
}
said() { # REGEX
    lines | grep -qE "$1"
}
hear() { # REGEX
    await said "$1"
}
not_heard() { # REGEX
    if said "$1"; then fail "heard: $(lines | grep -E "$1" | head -n 3)"; fi
}

counter() { # NAME
    kill -USR1 "$watcher"
    sleep 0.2
    grep '^stats' "$log" | tail -n 1 | grep -oE " $1=[0-9]+" | cut -d= -f2
}
reaches() { # COUNTER NUMBER
    [ "$(counter "$1")" -ge "$2" ]
}

stop_server() {
    e2e/kube/restart.sh "$cluster" kube-apiserver kill
}
ready() {
    kubectl get --raw /readyz
}
start_server() {
    e2e/kube/restart.sh "$cluster" kube-apiserver start
    for _ in 1 2 3; do
        if (await ready) 2>/dev/null; then return; fi
    done
    fail "the API server does not come back"
}

kubectl create clusterrole agent --verb=list,watch --resource=pods,namespaces
kubectl create clusterrolebinding agent --clusterrole=agent --user=agent
kubectl create clusterrole modest --verb=list,watch --resource=pods
kubectl create clusterrolebinding modest --clusterrole=modest --user=modest
pod elsewhere 'xprof.io/profile: "true"' | sed s/node1/node2/ | "$cluster/in" kubectl apply -f - >/dev/null

# The server is not there when we start.
cp "$cluster/pki/agent.token" "$TMP/token"
export POST_EVENTS=1 RETRY_MS=50 RETRY_MAX_MS=500 WATCH_SECONDS=2 PAGE=100
stop_server
start_watch "$log" "$TMP/token"
marked=0
hear '^problem pods from https://10.77.0.1: '
not_heard '^synced'
start_server
hear '^synced pods'
hear '^synced namespaces'
echo "absent at start: ok"

# Pods come, are annotated and un-annotated while they run.
{ pod asks 'xprof.io/profile: "cpu,offcpu"' && pod plain; } | "$cluster/in" kubectl apply -f - >/dev/null
hear '^wants default/asks cpu,offcpu '
hear '^wants default/plain - no annotation requests profiling'
kubectl annotate pod plain xprof.io/profile=true
hear '^wants default/plain cpu '
mark
kubectl annotate pod plain xprof.io/profile-
hear '^wants default/plain - '
kubectl annotate pod plain 'xprof.io/profile=cup'
hear '^warn default/plain xprof.io/profile: unknown type "cup"'
kubectl annotate pod plain xprof.io/profile-
printf '{"metadata": {"annotations": {"xprof.io/profile": "%0250000d"}}}' 1 >"$TMP/patch"
kubectl patch pod plain --patch-file "$TMP/patch"
hear '^warn default/plain xprof.io/profile: the value is longer than'
kubectl annotate pod plain xprof.io/profile-
echo "annotations: ok"

# An event says so where `kubectl describe` shows it, when we may write events.
mark
kubectl annotate pod plain 'xprof.io/profile=cop'
hear '^posted -1$'
kubectl create clusterrole events --verb=create --resource=events
kubectl create clusterrolebinding events --clusterrole=events --user=agent
posted() {
    kubectl annotate pod plain xprof.io/profile-
    kubectl annotate pod plain 'xprof.io/profile=cop'
    sleep 0.2
    said '^posted 0$'
}
await posted
kubectl annotate pod plain xprof.io/profile-
"$cluster/in" kubectl get events --field-selector involvedObject.name=plain,reason=BadAnnotation,type=Warning |
    grep -qF 'xprof.io/profile: unknown type "cop"' || fail "there is no such event"
echo "events: ok"

# Deleted, and created again under the same name.
mark
old=$(uid asks)
kubectl delete pod asks --grace-period=0 --force
hear "^gone $old"
pod asks | "$cluster/in" kubectl apply -f - >/dev/null
hear "^pod default/asks $(uid asks) "
hear '^wants default/asks - '
[ "$old" != "$(uid asks)" ] || fail "the same uid"

# The namespace's annotation is its pods' default.
mark
kubectl annotate namespace default xprof.io/profile=true
hear "^wants default/plain cpu the namespace's"
mark
kubectl annotate namespace default xprof.io/profile-
hear '^wants default/plain - '
echo "names and namespaces: ok"

# Our token is refused, and works again when the file holds another one.
mark
echo wrong >"$TMP/token"
hear '^problem pods .*HTTP 401'
reaches unauthorized 1 || fail "401 was not counted"
cp "$cluster/pki/agent2.token" "$TMP/token.new"
mv "$TMP/token.new" "$TMP/token"
kubectl annotate pod plain xprof.io/profile=offcpu
hear '^wants default/plain offcpu '
not_heard '^gone'
echo "token: ok"

# Without the right to read namespaces: said once, and the pods go on.
first=$watcher
start_watch "$TMP/modest" "$cluster/pki/modest.token"
has_403() {
    grep -q '^problem namespaces .*HTTP 403.*namespaces is forbidden' "$TMP/modest"
}
await has_403
await grep -q '^wants default/plain offcpu ' "$TMP/modest"
kubectl annotate --overwrite pod plain xprof.io/profile=cpu
await grep -q '^wants default/plain cpu ' "$TMP/modest"
sleep 1 # twenty times the first pause
[ "$(grep -c '^problem' "$TMP/modest")" = 1 ] || fail "said more than once: $(grep '^problem' "$TMP/modest")"
kill "$watcher"
wait "$watcher" || fail "it did not end well"
watcher=$first
echo "forbidden: ok"

# A thousand pods, made over one connection.
mark
"$cluster/in" python3 - "$cluster" <<'EOF'
import http.client, json, ssl, sys
pki = sys.argv[1] + "/pki/"
server = http.client.HTTPSConnection("10.77.0.1", context=ssl.create_default_context(cafile=pki + "ca.crt"))
headers = {"Authorization": "Bearer " + open(pki + "admin.token").read().strip(), "Content-Type": "application/json"}
for i in range(1000):
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"many-{i}"},
           "spec": {"nodeName": "node1", "containers": [{"name": "app", "image": "app"}]}}
    server.request("POST", "/api/v1/namespaces/default/pods", json.dumps(pod), headers)
    answer = server.getresponse()
    text = answer.read()
    assert answer.status == 201, text
EOF
hear '^pod default/many-999 '
reaches pods 1002 || fail "$(counter pods) pods are known, not 1002"
[ "$(grep -c '^pod default/many-.*app=' "$log")" = 1000 ] || fail "not every pod was told of once"
not_heard '^gone'
echo "a thousand: ok"

# The server is killed: nothing is forgotten meanwhile, and what changes later is heard.
mark
stop_server
hear '^problem pods '
sleep 1 # several tries
not_heard '^gone'
reaches pods 1002 || fail "pods were forgotten"
start_server
kubectl annotate pod many-7 xprof.io/profile=true
hear '^wants default/many-7 cpu '
not_heard '^gone'
echo "server killed: ok"

# While we sleep a pod goes and another comes, and etcd forgets the history: 410, and a list of ten pages says what
# changed, no more and no less.
mark
stop_server
hear '^problem pods '
kill -STOP "$watcher"
start_server
gone=$(uid many-13)
kubectl delete pod many-13 --grace-period=0 --force
pod late 'xprof.io/profile: "true"' | "$cluster/in" kubectl apply -f - >/dev/null
revision=$("$cluster/in" kubectl get pod late -o 'jsonpath={.metadata.resourceVersion}')
"$cluster/in" curl -sf http://127.0.0.1:2379/v3/kv/compaction -d "{\"revision\": \"$revision\", \"physical\": true}" >"$TMP/compacted"
stop_server
start_server
mark
kill -CONT "$watcher"
hear '^wants default/late cpu '
hear "^gone $gone"
[ "$(lines | grep -c '^gone')" = 1 ] || fail "more is gone than one pod"
not_heard '^pod default/many-'
reaches expired 1 || fail "there was no 410"
reaches pods 1002 || fail "$(counter pods) pods are known, not 1002"
echo "410: ok"

# Only this node's pods, and nothing was skipped.
if grep -q elsewhere "$log"; then fail "a pod of another node was heard of"; fi
[ "$(counter skipped) $(counter oversize) $(counter refused)" = "0 0 0" ] || fail "objects were skipped"
kill "$watcher"
wait "$watcher" || fail "it did not end well: $(tail -n 3 "$errors")"
grep '^stats' "$log" | tail -n 1
