#!/bin/bash
# Looks for data races: the unit tests of rooms that know threads, and the agent through its reload, its metrics and its
# end, under ThreadSanitizer.
#   tools/race.sh [SUBSTRING...]     only these unit tests, of whatever room, and no agent
# Any report fails, and is printed. Objects and programs are below build/race; B and MAKE are make's.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
B=${B:-build}
logs=$PWD/$B/race/logs
case=agent-config
unset MAKEFLAGS MFLAGS # of a make that called us

# gcc warns of fences, which the sanitizer does not see: without effect on what it does see. Tests and agent have the
# same objects; the eBPF programs are the usual ones.
"${MAKE:-make}" -j"$(nproc)" B="$B/race" U="$B/race" E="$B" WARN=-w SAN= \
    OPT="-O1 -g1 -fsanitize=thread -fno-omit-frame-pointer" \
    "$B/race/unit" "$B/race/xprof"
rm -rf "$logs"
mkdir -p "$logs"
export TSAN_OPTIONS="halt_on_error=0:exitcode=66:second_deadlock_stack=1:log_path=$logs/report"

status=0
export XPROF_TESTDATA=$B/testdata
if [ $# -gt 0 ]; then
    "$B/race/unit" "$@" || status=1
else
    mapfile -t rooms < <(grep -lE '#include <pthread\.h>|"base/queue\.h"' agent/*/*.[ch] | xargs -n 1 dirname | sort -u)
    tools/unit.sh "$B/race/unit" "$logs" "${rooms[@]/%//}" || status=1
    XPROF=$PWD/$B/race/xprof e2e/run.sh "$case" || status=1
fi
reports=("$logs"/report.*)
if [ -e "${reports[0]}" ]; then
    cat "${reports[@]}"
    grep -h '^SUMMARY' "${reports[@]}" | sort | uniq -c
    status=1
fi
exit $status
