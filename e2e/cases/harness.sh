#!/bin/bash
# The harness itself: a case that could not run, and a metric that is not there, are no success; one failure gets a
# second try, many do not; cases run beside each other, those with agents one by one, and what fails there runs alone.
# beside others
set -euo pipefail
. e2e/lib.sh
. e2e/agent/lib.sh

mkdir "$TMP/folder"
echo 'echo no such program; exit 77' | tee "$TMP/folder/vdso.sh" >"$TMP/folder/other.sh"
folder=$(realpath --relative-to=e2e "$TMP/folder")
CI='' e2e/run.sh -d "$folder" >"$TMP/out" || fail "a skip is a failure: $(cat "$TMP/out")"
grep -qx 'skip  other: no such program' "$TMP/out" || fail "a skip has no reason: $(cat "$TMP/out")"
if CI=true e2e/run.sh -d "$folder" >"$TMP/out"; then fail "a skip passes in CI: $(cat "$TMP/out")"; fi
grep -q '^FAIL  other' "$TMP/out" || fail "the case that was skipped is not named: $(cat "$TMP/out")"
grep -qx 'skip  vdso: no such program' "$TMP/out" || fail "a case of the list must run: $(cat "$TMP/out")"
while read -r name reason; do
    [ "$name" = '#' ] || [ -e "e2e/cases/$name.sh" ] || fail "e2e/skips.txt: there is no case $name"
    [ -n "$reason" ] || fail "e2e/skips.txt: $name has no reason"
done <e2e/skips.txt

mkdir "$TMP/again"
again=$(realpath --relative-to=e2e "$TMP/again")
case_of() { # NAME COMMAND
    echo "$2" >"$TMP/again/$1.sh"
}
case_of shaky "[ -e $TMP/tried ] || { touch $TMP/tried; exit 1; }"
case_of sound true
e2e/run.sh -d "$again" >"$TMP/out" || fail "a case that passes the second time fails: $(cat "$TMP/out")"
grep -qx '1 passed, 0 failed, 0 skipped, 1 unstable' "$TMP/out" || fail "once unstable: $(cat "$TMP/out")"
case_of broken false
if e2e/run.sh -d "$again" >"$TMP/out"; then fail "a case that fails twice passes: $(cat "$TMP/out")"; fi
grep -qx '2 passed, 1 failed, 0 skipped, 0 unstable' "$TMP/out" || fail "failed twice: $(cat "$TMP/out")"
for name in one two; do
    case_of $name false
done
if e2e/run.sh -d "$again" >"$TMP/out"; then fail "three failures pass: $(cat "$TMP/out")"; fi
if grep -q '^again' "$TMP/out"; then fail "three failures are no coincidence: $(cat "$TMP/out")"; fi

mkdir "$TMP/beside"
beside=$(realpath --relative-to=e2e "$TMP/beside")
beside_case() { # NAME LINE...
    printf '%s\n' '# beside others' "${@:2}" >"$TMP/beside/$1.sh"
}
for name in a b c; do
    beside_case "agent-$name" 'make_container() { true; }' "mkdir $TMP/agent && sleep 0.3 && rmdir $TMP/agent"
    beside_case "program-$name" "if [ -e $TMP/agent ]; then touch $TMP/met; fi; sleep 0.2"
done
beside_case sociophobe "[ -e $TMP/shy ] || { touch $TMP/shy; exit 1; }"
e2e/run.sh -d "$beside" >"$TMP/out" || fail "cases beside others: $(cat "$TMP/out")"
grep -qx '7 passed, 0 failed, 0 skipped, 0 unstable' "$TMP/out" || fail "beside others: $(cat "$TMP/out")"
[ -e "$TMP/met" ] || fail "no two cases ran at once"
grep -q '^later  sociophobe' "$TMP/out" || fail "who failed beside others is not said: $(cat "$TMP/out")"

page=file://$TMP
printf '%s\n' 'a_total{b="c"} 1' 'a_total{b="d"} 2' 'a_total_of_others 4' >"$TMP/metrics"
[ "$(metric a_total)" = 3 ] || fail "the sum is $(metric a_total)"
[ "$(metric a_total '"d"')" = 2 ] || fail "of d: $(metric a_total '"d"')"
absent() { # MESSAGE NAME [LABELS]
    local message=$1 text
    shift
    if text=$(metric "$@" 2>"$TMP/said"); then fail "metric $*: $text"; fi
    [ -z "$text" ] || fail "metric $*: $text"
    grep -q "$message" "$TMP/said" || fail "metric $*: $(cat "$TMP/said")"
}
absent 'no metric a$' a
absent 'no metric a_total with the labels e' a_total e
rm "$TMP/metrics"
absent 'no page' a_total
