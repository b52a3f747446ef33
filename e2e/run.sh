#!/bin/bash
# End-to-end tests: real programs, the real kernel, the built binary.   e2e/run.sh [-d FOLDER] [SUBSTRING...]
# Runs each e2e/FOLDER/*.sh (cases; and the page's e2e/html/run.sh with them) from the top folder with XPROF (the binary)
# and TMP (a folder of its own). Exit 0 = passed, 77 = skipped (the last line says why), anything else = failed; its output
# is then shown. With CI set, a skip is a failure unless e2e/skips.txt lists the case. Cases with a line "# beside others"
# are started two at a time, first: they measure no times, and sample nothing but what they started. Two of them with
# agents or containers never run at once: they would see each other's. Those that fail there are run again, alone, which
# is what counts. All others have the machine for themselves. Up to two cases that failed alone are run again at the end:
# one that passes then is counted as unstable, with the output of its failure above, and wants mending; more than two are
# no coincidence.
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

verdict=FAIL # on a case that fails
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
    *) printf '%s\n' "$verdict  $name (exit $rc$([ $rc != 124 ] || echo ": over $limit s"))" "$(sed 's/^/      | /' "$own.log")" ;;
    esac
    echo "$rc $case" >>"$logs/count"
}

again() { # CASE: one that has failed
    echo "again $(name_of "$1")"
    sed -i "\\|^[0-9]* $1\$|d" "$logs/count"
    run_case "$1"
    sed -i "s|^0 $1\$|unstable $1|" "$logs/count"
}

# Sees whatever is in containers, or is in one.
has_agents() { # CASE
    grep -qE '^\. e2e/(agent|cri|faults|kube|limits|pyroscope)/|make_container|\bcontained\b|podman|runc' "$1"
}

next_program() { # prints a case, each one once
    {
        flock 9
        sed -n 1p "$logs/programs"
        sed -i 1d "$logs/programs"
    } 9>"$logs/lock"
}

run_programs() {
    local case
    while case=$(next_program) && [ -n "$case" ]; do
        run_case "$case"
    done
}

run_lanes() { # two; the one of the agents takes programs when it has no more of them
    local case verdict=later
    printf '%s\n' "${programs[@]}" >"$logs/programs"
    {
        for case in "${agents[@]}"; do run_case "$case"; done
        run_programs
    } &
    run_programs
    wait
}

agents=() programs=() alone=()
for case in e2e/"$folder"/*.sh $([ "$folder" != cases ] || echo e2e/html/run.sh); do
    if [ ! -f "$case" ] || ! wanted "$case" "$@"; then
        continue
    elif ! grep -qx '# beside others' "$case"; then
        alone+=("$case")
    elif has_agents "$case"; then
        agents+=("$case")
    else
        programs+=("$case")
    fi
done
n=$((${#agents[@]} + ${#programs[@]} + ${#alone[@]}))
: >"$logs/count"
run_lanes
mapfile -t later < <(awk '$1 != 0 && $1 != 77 { print $2 }' "$logs/count")
sed -i '/^\(0\|77\) /!d' "$logs/count"
for case in "${later[@]}" "${alone[@]}"; do
    run_case "$case"
done
mapfile -t failed < <(awk '$1 != 0 && $1 != 77 { print $2 }' "$logs/count")
if [ ${#failed[@]} -le 2 ]; then
    for case in "${failed[@]}"; do
        again "$case"
    done
fi
awk -v n=$n '$1 == 0 { ok++ } $1 == "unstable" { unstable++ } $1 == 77 { skip++ } END {
    printf "%d passed, %d failed, %d skipped, %d unstable\n", ok, n - ok - skip - unstable, skip, unstable
    exit n > ok + skip + unstable }' "$logs/count" # a case that left no line has failed, too
