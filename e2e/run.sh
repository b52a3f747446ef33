#!/bin/bash
# End-to-end tests: real programs, the real kernel, the built binary.   e2e/run.sh [-d FOLDER] [SUBSTRING...]
# Runs each e2e/FOLDER/*.sh (cases; and the page's e2e/html/run.sh with them) from the top folder with XPROF (the binary)
# and TMP (a folder of its own). Exit 0 = passed, 77 = skipped (the last line says why), anything else = failed; its output
# is then shown. With CI set, a skip is a failure unless e2e/skips.txt lists the case. Cases with a line "# beside others"
# are started two at a time, first: they neither sample what they did not start nor measure times. All others have the
# machine for themselves. Up to two cases that failed are run again at the end, alone: one that passes then is counted as
# unstable, with the output of its failure above, and wants mending; more than two are no coincidence.
set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 2
export XPROF=${XPROF:-$PWD/build/xprof}
limit=${E2E_TIMEOUT:-300}
folder=cases
if [ "${1:-}" = -d ]; then
    folder=${2:?FOLDER}
    shift 2
fi
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

wanted() { # CASE SUBSTRING...
    local case=$1
    shift
    [ $# -gt 0 ] || return 0
    for part; do
        [[ $case == *"$part"* ]] && return 0
    done
    return 1
}

name_of() { # CASE
    local name=${1#e2e/}
    name=${name#"$folder"/}
    name=${name%.sh}
    echo "${name%/run}"
}

may_skip() { # NAME
    [ -z "${CI:-}" ] || awk -v name="$1" '$1 == name && NF > 1 { found = 1 } END { exit !found }' e2e/skips.txt
}

run_case() { # CASE: a line about it, and one in $logs/count
    local case=$1 name rc own start=$SECONDS
    name=$(name_of "$case")
    own=$logs/${name//\//-} # only one folder above it that others may have to enter
    mkdir -p "$own"
    TMP=$own timeout --kill-after=10 "$limit" bash "$case" >"$own.log" 2>&1 </dev/null
    rc=$?
    rm -rf "$own"
    if [ $rc = 77 ] && ! may_skip "$name"; then
        echo "e2e: where CI runs this must not be skipped (e2e/skips.txt)" >>"$own.log"
        rc=1
    fi
    case $rc in
    0) echo "ok    $name ($((SECONDS - start)) s)" ;;
    77) echo "skip  $name: $(tail -n 1 "$own.log")" ;;
    *) printf '%s\n' "FAIL  $name (exit $rc$([ $rc != 124 ] || echo ": over $limit s"))" "$(sed 's/^/      | /' "$own.log")" ;;
    esac
    echo "$rc $case" >>"$logs/count"
}

again() { # CASE: one that has failed
    echo "again $(name_of "$1")"
    sed -i "\\|^[0-9]* $1\$|d" "$logs/count"
    run_case "$1"
    sed -i "s|^0 $1\$|unstable $1|" "$logs/count"
}

together=() alone=()
for case in e2e/"$folder"/*.sh $([ "$folder" != cases ] || echo e2e/html/run.sh); do
    if [ -f "$case" ] && wanted "$case" "$@"; then
        if grep -qx '# beside others' "$case"; then together+=("$case"); else alone+=("$case"); fi
    fi
done
: >"$logs/count"
for case in "${together[@]}"; do
    while [ "$(jobs -rp | wc -l)" -ge 2 ]; do wait -n; done
    run_case "$case" &
done
wait
for case in "${alone[@]}"; do
    run_case "$case"
done
mapfile -t failed < <(awk '$1 != 0 && $1 != 77 { print $2 }' "$logs/count")
if [ ${#failed[@]} -le 2 ]; then
    for case in "${failed[@]}"; do
        again "$case"
    done
fi
awk -v n=$((${#together[@]} + ${#alone[@]})) '$1 == 0 { ok++ } $1 == "unstable" { unstable++ } $1 == 77 { skip++ } END {
    printf "%d passed, %d failed, %d skipped, %d unstable\n", ok, n - ok - skip - unstable, skip, unstable
    exit n > ok + skip + unstable }' "$logs/count" # a case that left no line has failed, too
