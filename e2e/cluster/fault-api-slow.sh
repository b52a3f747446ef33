#!/bin/bash
# An API server that answers after seconds, cuts watches in the middle of an object, and has forgotten its history: who
# asked stays profiled, an annotation is heard nevertheless, and nobody else is sampled.
set -euo pipefail
. e2e/lib.sh
need_root
. e2e/agent/lib.sh
. e2e/faults/node.sh
. e2e/faults/sum.sh

OUT=short build_target layout
busy="sh -c 'while :; do $TMP/short 20; sleep 0.1; done'"
start_node
echo slow 1500 >"$TMP/mode"
inside /usr/bin/python3 "$PWD/e2e/faults/api_proxy.py" 6443 https://10.77.0.1 "$cluster/pki/apiserver.crt" \
    "$cluster/pki/apiserver.key" "$TMP/mode" "$TMP/requests" 2>"$TMP/proxy" &
proxy=$!
at_exit "kill $proxy"
sed -i 's|https://10.77.0.1|&:6443|' "$TMP/kubeconfig"
node make asks 1 1 xprof.io/profile=true
node make turns 1 1
node make silent 1 1
for who in asks turns silent; do node busy $who 1 "$busy"; done
begun=$SECONDS
start_node_agent --rate 499 --max-cpu 100
samples() {
    metric xprof_samples_total
}
grows() { # FROM: by fifty
    [ "$(samples)" -gt $(($1 + 50)) ]
}
profiled() { # POD...: these are, and none else
    curl -sf "$page/targets" | jq -e --arg w "$*" \
        '[.[] | select(.kind == "container" and .profiled).labels.pod] | sort | join(" ") == $w'
}
mode() { # MODE
    echo "$*" >"$TMP/mode.new" && mv "$TMP/mode.new" "$TMP/mode"
}
met() { # MODE TIMES: so many requests met it
    [ "$(grep -c "^$1 " "$TMP/requests")" -ge "$2" ]
}
# Whatever happened: who asked is profiled now as before, and nobody else is. MODE is for people.
goes_on() { # MODE POD...
    local before
    before=$(samples)
    soon profiled "${@:2}"
    soon grows "$before"
    [ ! -e "$out/default/silent-0" ] || fail "a pod that did not ask has profiles ($1)"
    echo "$1: it goes on ($((SECONDS - begun)) s)"
}

soon profiled asks-0
node note turns 1 xprof.io/profile=true
goes_on "answers after 1.5 s" asks-0 turns-0

mode cut
node note turns 1 xprof.io/profile-
soon met cut 2
goes_on "cut in the middle of an object" asks-0 turns-0
mode well
goes_on "and whole again" asks-0

mode gone
node note turns 1 xprof.io/profile=true
goes_on "410 in a watch" asks-0 turns-0
mode gone-http
node note turns 1 xprof.io/profile-
soon met gone-http 1
goes_on "410 for a watch" asks-0
mode well
[ "$(metric xprof_kube_errors_total expired)" -ge 2 ] || fail "there was no 410"
node note asks 1 xprof.io/profile-
soon profiled
unwanted_for 200
expect_sum | tail -n 1
[ "$(metric xprof_profile_samples_unnamed_total)" = 0 ] || fail "samples without a name"
[ ! -e "$out/host" ] || fail "profiles of nobody: $(ls "$out/host")"
end_agent
end_node
