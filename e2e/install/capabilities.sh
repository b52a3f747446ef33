#!/bin/bash
# Each of the agent's capabilities is for something: in a pod without one of them, `xprof check` fails in the lines that it
# is for, and in no others, or says which layer of the parser's sandbox is missing.
set -euo pipefail
. e2e/install/lib.sh

all=(BPF PERFMON SYS_PTRACE DAC_READ_SEARCH SYSLOG CHECKPOINT_RESTORE SETUID SETGID KILL)
xprof_image
at_exit "e2e/kube/down.sh $cluster"
IMAGES=$images/xprof.tar e2e/kube/up.sh "$cluster" || fail "the cluster does not come up"

# A pod like the agent's, with the capabilities but one.
pod() { # NAME LEFT_OUT
    local capability list=()
    for capability in "${all[@]}"; do [ "$capability" = "$2" ] || list+=("$capability"); done
    printf 'apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\n' "$1"
    "$bin/helm" template xprof "$PWD/deploy/helm/xprof" --show-only templates/tests/check.yaml \
        --set image.repository=registry.local/xprof --set-string image.tag=1 \
        --set "capabilities={$(IFS=, && echo "${list[*]}")}" | sed -n '/^spec:/,$p'
    echo ---
}

name_of() {
    tr 'A-Z_' 'a-z-' <<<"without-$1"
}
for left_out in nothing "${all[@]}"; do pod "$(name_of "$left_out")" "$left_out"; done >"$TMP/pods.yaml"
kubectl apply -f "$TMP/pods.yaml" >/dev/null

ended() { # NAME
    kubectl get pod "$1" -o jsonpath='{.status.containerStatuses[0].state.terminated.exitCode}' | grep -q .
}
expect_check() { # LEFT_OUT EXIT LINE,LINE...
    local name have status
    name=$(name_of "$1")
    await_for 120 ended "$name" # ten checks at once, each loads all eBPF programs
    kubectl logs "$name" >"$TMP/log"
    status=$(kubectl get pod "$name" -o jsonpath='{.status.containerStatuses[0].state.terminated.exitCode}')
    have=$(sed -nE 's/^NO +(.*[^ ]) {2,}.*/\1/p' "$TMP/log" | cut -c1-22 | sed 's/ *$//' | paste -sd,)
    if [ "$status" != "$2" ] || [ "$have" != "$3" ]; then
        cat "$TMP/log" >&2
        fail "without $1: exit $status and failing lines '$have', not $2 and '$3'"
    fi
    [ "$1" = nothing ] || grep -qE "CAP_$1 is missing|without .*CAP_$1" "$TMP/log" ||
        { cat "$TMP/log" >&2 && fail "CAP_$1 is not named"; }
    echo "without $1: exit $status${have:+, $have}"
}
expect_check nothing 0 ''
expect_check BPF 1 'eBPF programs'
expect_check PERFMON 1 'eBPF programs'
expect_check SYS_PTRACE 1 'other processes'
expect_check DAC_READ_SEARCH 1 'any file'
expect_check SYSLOG 1 'kernel symbols'
expect_check CHECKPOINT_RESTORE 1 'mapped files'
expect_check SETUID 0 ''
expect_check SETGID 0 ''
expect_check KILL 0 ''
