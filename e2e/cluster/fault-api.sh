#!/bin/bash
# A real API server that comes late, goes, refuses: what is known stays, nobody is sampled unasked, each sample finds its
# pod.
set -euo pipefail
. e2e/lib.sh
need_root
. e2e/agent/lib.sh
. e2e/faults/node.sh
. e2e/faults/sum.sh

OUT=short build_target layout
busy="sh -c 'while :; do $TMP/short 20; sleep 0.1; done'" # a fifth of a CPU
start_node
node make asks 1 2 xprof.io/profile=true
node make silent 1 1
node busy asks 1 "$busy"
node busy silent 1 "$busy"
samples() {
    metric xprof_samples_total
}
grows() { # FROM: by a hundred
    [ "$(samples)" -gt $(($1 + 100)) ]
}
restart() { # kill|start
    e2e/kube/restart.sh "$cluster" kube-apiserver "$1"
}

# It is not there yet: nobody is known, so nobody is sampled.
restart kill
start_node_agent --rate 199 --max-cpu 100
[ "$(curl -s -o "$TMP/ready" -w '%{http_code}' "$page/readyz")" = 503 ] || fail "it is ready without knowing pods"
grep -q 'the pods of this node are not known yet' "$TMP/ready" || fail "it does not say what is missing"
unwanted_for 100
[ "$(samples)" = 0 ] || fail "samples of pods that nobody knows leave the kernel"
restart start
soon grows 0
soon curl -sf "$page/readyz"
soon has_profiles default/asks-0/c0

# It goes: what is known stays. So it does when our token is worth nothing any more.
restart kill
node_errors() {
    [ "$(metric xprof_kube_errors_total "$1")" -ge 1 ]
}
soon node_errors .
before=$(samples)
soon grows "$before"
cp "$cluster/pki/modest.token" "$TMP/token"
restart start
soon node_errors forbidden
before=$(samples)
soon grows "$before"
echo nonsense >"$TMP/token"
soon node_errors unauthorized
before=$(samples)
soon grows "$before"
cp "$cluster/pki/agent.token" "$TMP/token"
ready() {
    kubectl get --raw /readyz
}
soon ready
node note asks 1 xprof.io/profile-
stopped() {
    curl -sf "$page/targets" | jq -e 'all(.[]; .profiled | not)'
}
soon stopped
echo "API server absent, gone, 403, 401: nobody sampled unasked, nobody forgotten"

expect_sum | tail -n 1
[ "$(metric xprof_profile_samples_unnamed_total)" = 0 ] || fail "samples without a name"
[ ! -e "$out/host" ] || fail "profiles of nobody: $(ls "$out/host")"
end_agent
end_node
