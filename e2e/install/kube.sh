#!/bin/bash
# The chart in real clusters.   e2e/install/kube.sh [SUBSTRING...]
# Builds what is missing (cached by what it is made from: ten minutes when nothing is there), then runs the variants whose
# name contains a word; all without one. `make e2e-kube` runs "default values", `make e2e-clusters` the others. Those that
# have no cluster run beside those that have one, of which there is one at a time.
set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 2
export XPROF=${XPROF:-$PWD/build/xprof}
limit=${E2E_TIMEOUT:-600}
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# name | script | environment; those with a cluster first
variants='default values: hybrid, containerd 2, storage v1|install/test.sh|MODE=hybrid CONTAINERD=2 STORAGE=v1
other: v2, containerd of the distribution, storage v2|install/test.sh|MODE=v2 CONTAINERD=system STORAGE=v2
other: each capability is needed|install/capabilities.sh|
other: ways to install|install/ways.sh|MODE=hybrid
other: chart, manifests, dashboards|install/run.sh|STORAGE=v1 BESIDE=1
other: systemd unit|install/unit.sh|
other: build the flame graph of Grafana|grafana/page.sh|BESIDE=1
other: dashboards, storage v1|grafana/test.sh|STORAGE=v1
other: dashboards, storage v2|grafana/test.sh|STORAGE=v2'

report() { # NAME STATUS SECONDS LOG
    case $2 in
    0) echo "ok    $1 ($3 s)" ;;
    77) echo "skip  $1: $(tail -n 1 "$4")" ;;
    *)
        touch "$logs/failed"
        echo "FAIL  $1 (exit $2$([ "$2" != 124 ] || echo ": over $limit s"))"
        sed 's/^/      | /' "$4"
        ;;
    esac
}

prepare() { # NAME COMMAND...
    local name=$1 start=$SECONDS rc
    shift
    "$@" >"$logs/prepare" 2>&1
    rc=$?
    report "$name" $rc $((SECONDS - start)) "$logs/prepare"
    return $rc
}

run_variant() { # NAME SCRIPT VARIABLE=VALUE...
    local name=$1 script=$2 start=$SECONDS rc own
    shift 2
    own=$(mktemp -d "$logs/XXX")
    env "$@" XPROF_IMAGE="$logs/xprof.tar" TMP="$own" timeout --kill-after=30 "$limit" \
        bash "e2e/$script" >"$own.log" 2>&1 </dev/null
    rc=$?
    report "$name" $rc $((SECONDS - start)) "$own.log"
    rm -rf "$own"
}

run_variants() { # beside|alone WANTED...
    local lane=$1 own name script variables part
    shift
    while IFS='|' read -r -u 9 name script variables; do
        own=alone
        [[ $variables != *BESIDE* ]] || own=beside
        [ $own = "$lane" ] || continue
        for part in "${@:-$name}"; do
            # shellcheck disable=SC2086
            [[ $name != *"$part"* ]] || { run_variant "$name" "$script" $variables && break; }
        done
    done 9<<<"$variants"
}

[ "$(id -u)" = 0 ] || { echo "skip  needs root" && exit 0; }
tools/deps.sh build test || exit 1
prepare 'build Kubernetes' e2e/kube/build.sh || exit 1
prepare 'build Pyroscope' e2e/pyroscope/get.sh || exit 1
prepare 'build the image' e2e/install/image.sh "$logs/xprof.tar" || exit 1
run_variants beside "$@" &
run_variants alone "$@"
wait
[ ! -e "$logs/failed" ]
