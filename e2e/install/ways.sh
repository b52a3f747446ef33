#!/bin/bash
# Other ways to install the chart than the default: each profiles the pod that asks for it, and no other, and sends it.
set -euo pipefail
. e2e/install/lib.sh

workload_images
xprof_image
start_cluster
kubectl apply -f "$PWD/e2e/install/workloads/pods.yaml" >/dev/null
kubectl -n shop rollout status deploy/web deploy/silent --timeout=60s
web=$(kubectl -n shop get pod -l app=web -o jsonpath='{.items[0].metadata.name}')

profiled() { # POD: by its labels
    targets | jq -e --arg p "$1" 'any(.[]; .kind == "container" and .labels.pod == $p and .profiled)' >/dev/null
}
sent() { # EXPORTER
    [ "$(metric xprof_export_profiles_total "exporter=\"$1\"")" -gt 0 ]
}
has_status() { # EXPECTED AUTHORIZATION: of the list of targets, for who is not in the agent's pod
    [ "$(curl -s -o /dev/null -w '%{http_code}' -H "Authorization: $2" "http://$(agent_address):7055/targets")" = "$1" ] ||
        fail "/targets answers '$2' otherwise than with $1"
}
gone() {
    [ -z "$(kubectl -n xprof get pod -o name)" ]
}
way() { # EXPORTER OPTION...
    local exporter=$1
    shift
    echo "-- $*"
    install_chart --set config.interval=2s --set config.verbose=on "$@"
    await_for 30 profiled "$web"
    await_for 30 sent "$exporter"
    ! kubectl get clusterrole -l app.kubernetes.io/instance=xprof -o yaml | grep nodes/proxy || fail "it may run commands in pods"
    has_status 403 ''
    has_status "$(case "$*" in *targetsSecret*) echo 200 ;; *) echo 403 ;; esac)" 'Bearer s3cret'
    if profiled "$(kubectl -n shop get pod -l app=silent -o jsonpath='{.items[0].metadata.name}')"; then
        fail "a pod that did not ask is profiled with: $*"
    fi
    helm uninstall xprof -n xprof --wait >/dev/null
    await_for 60 gone
}
way pyroscope --set privileged=true
way pyroscope --set kube=kubelet --set config.kubelet-insecure=on
kubectl -n xprof create secret generic readers --from-literal=token=s3cret >/dev/null
way pyroscope --set targetsSecret=readers
way pyroscope --set kube=cri # by the runtime alone: no rights in the cluster
[ -z "$(kubectl get clusterrole -l app.kubernetes.io/instance=xprof -o name)" ] || fail "roles that nobody needs"
way otlp --set otlp.url=$url --set pyroscope.url=
way archive --set 'config.exporters[0].name=archive,config.exporters[0].type=directory' \
    --set 'config.exporters[0].path=/var/lib/xprof/archive' --set "statePath=$TMP/state" --set pyroscope.url=
find "$TMP/state/archive" -path "*shop/$web/main/*" -name '*.pb.gz' | grep -q . || fail "no profile lies in the node's folder"

# A namespace that refuses the agent's pods: the notes say so, and what to do; with that done they are silent.
kubectl create namespace strict >/dev/null
kubectl label namespace strict pod-security.kubernetes.io/enforce=baseline >/dev/null
strict() { # COMMAND
    helm "$1" strict "$PWD/deploy/helm/xprof" -n strict --set image.repository=registry.local/xprof --set image.tag=1 \
        --set config.exclusive=off >"$TMP/notes" 2>&1 || { cat "$TMP/notes" && fail "helm $1"; }
}
strict install
label=$(sed -n 's/^ *kubectl label/kubectl label/p' "$TMP/notes")
grep -q 'WARNING: the namespace strict enforces the Pod Security level baseline' "$TMP/notes" || fail "no warning: $(cat "$TMP/notes")"
violates() {
    kubectl -n strict get events -o jsonpath='{.items[*].message}' | grep -q 'violates PodSecurity'
}
await_for 30 violates
eval "$label" >/dev/null
strict upgrade
! grep -q 'Pod Security' "$TMP/notes" || fail "the notes still warn: $(cat "$TMP/notes")"
kubectl -n strict rollout restart ds/strict-xprof >/dev/null # or wait for the next try, a few minutes later
kubectl -n strict rollout status ds/strict-xprof --timeout=60s
helm uninstall strict -n strict --wait >/dev/null

# All pods but those that do not want to be: the annotation of a pod, or of its namespace.
kubectl annotate namespace shop xprof.io/profile=false >/dev/null
install_chart --set config.interval=2s --set targeting=all
await_for 30 profiled store-0
if profiled "$(kubectl -n shop get pod -l app=silent -o jsonpath='{.items[0].metadata.name}')"; then
    fail "a pod whose namespace opted out is profiled"
fi
shy=$(kubectl -n asks get pod shy -o jsonpath='{.metadata.uid}')
targets | jq -e --arg u "$shy" '[.[] | select(.pod_uid == $u)] | length > 1 and all(.profiled | not)' >/dev/null ||
    fail "a pod that opted out is profiled"
profiled "$web" || fail "a pod's own word counts more than its namespace's"
