#!/bin/bash
# End-to-end tests: real programs, the real kernel, the built binary.   e2e/run.sh [SUBSTRING...]
# Runs each e2e/cases/*.sh and e2e/*/run.sh from the top folder with XPROF (the binary) and TMP (a folder of its own).
# Exit 0 = passed, 77 = skipped (the last line says why), anything else = failed; its output is then shown.
set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 2
export XPROF=${XPROF:-$PWD/build/xprof}
limit=${E2E_TIMEOUT:-300}
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
passed=0 failed=0 skipped=0

wanted() { # CASE SUBSTRING...
    local case=$1
    shift
    [ $# -gt 0 ] || return 0
    for part; do
        [[ $case == *"$part"* ]] && return 0
    done
    return 1
}

run_case() {
    local case=$1 name rc start=$SECONDS
    name=${case#e2e/}
    name=${name#cases/}
    name=${name%.sh}
    name=${name%/run}
    mkdir -p "$logs/tmp"
    TMP=$logs/tmp timeout --kill-after=10 "$limit" bash "$case" >"$logs/log" 2>&1 </dev/null
    rc=$?
    rm -rf "$logs/tmp"
    case $rc in
    0)
        passed=$((passed + 1))
        echo "ok    $name ($((SECONDS - start)) s)"
        ;;
    77)
        skipped=$((skipped + 1))
        echo "skip  $name: $(tail -n 1 "$logs/log")"
        ;;
    *)
        failed=$((failed + 1))
        echo "FAIL  $name (exit $rc$([ $rc != 124 ] || echo ": over $limit s"))"
        sed 's/^/      | /' "$logs/log"
        ;;
    esac
}

for case in e2e/cases/*.sh e2e/*/run.sh; do
    if [ -f "$case" ] && wanted "$case" "$@"; then
        run_case "$case"
    fi
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
