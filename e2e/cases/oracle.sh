#!/bin/bash
# Every frame equal to libdwfl's, on the same registers and memory: real programs, and targets with odd stacks.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root

[ -x "${ORACLE:=build/oracle}" ] || skip "the oracle is not built (make build/oracle)"

# Stops the process STOPS times; the oracle fails below 99.9 % of equal frames.
compare() { # NAME STOPS COMMAND...
    local name=$1 stops=$2 pid report
    shift 2
    "$@" >/dev/null 2>&1 &
    pid=$!
    at_exit "kill -KILL $pid; wait $pid"
    await grep -q . "/proc/$pid/maps"
    sleep 0.2
    report=$(timeout 60 "$ORACLE" -p $pid -n "$stops") || fail "$name: $report"
    kill -KILL $pid 2>/dev/null || true
    echo "$name: $(tail -n 1 <<<"$report")"
    [[ $(tail -n 1 <<<"$report") =~ stops\ ([0-9]+) ]] || fail "$name: $report"
    [ "${BASH_REMATCH[1]}" -ge $((stops / 4)) ] || fail "$name: only ${BASH_REMATCH[1]} stops"
    compared=$((compared + 1))
}
present() { # COMMAND
    command -v "$1" >/dev/null || { echo "$1 is not here" && false; }
}
compared=0

build_target deep
compare deep 150 "$TMP/deep" 60 20000
build_target signals -DFOREVER=1
compare signals 300 "$TMP/signals" alt
build_target drap -DFOREVER=1
compare drap 300 "$TMP/drap"
build_target context -DFOREVER=1
compare context 150 "$TMP/context"

# A source that keeps a compiler busy for a while.
{
    echo '#include <algorithm>'
    echo '#include <map>'
    echo '#include <regex>'
    echo '#include <string>'
    for i in $(seq 60); do
        echo "int f$i(std::map<std::string, int> &m, std::string s) { std::regex r(s + \"$i\"); m[s] += $i;" \
            "return std::regex_match(s, r) + (int)std::count(s.begin(), s.end(), 'a' + $i % 20); }"
    done
} >"$TMP/busy.cc"
if present g++; then
    g++ -E "$TMP/busy.cc" -o "$TMP/busy.ii"
    compare cc1plus 250 "$(g++ -print-prog-name=cc1plus)" -quiet -O2 -fpreprocessed "$TMP/busy.ii" -o /dev/null
fi
if present clang; then
    compare clang 250 clang -fintegrated-cc1 -c -O2 "$TMP/busy.cc" -o /dev/null
fi
if present /usr/bin/python3; then
    compare python3 250 /usr/bin/python3 -c 'import json
while True: sorted(json.loads(json.dumps([{"a": str(i)} for i in range(300)])), key=lambda d: d["a"])'
fi
if present perl; then
    # shellcheck disable=SC2016
    compare perl 250 perl -e 'while (1) { my %h; $h{$_ % 50} .= "ab$_" for 1 .. 900; /b(\d+)a/ && $1 for values %h }'
fi
if present openssl; then
    compare openssl 250 openssl speed -seconds 20 rsa2048
    compare openssl-gcm 250 openssl speed -seconds 20 -evp aes-128-gcm
fi
if present xz; then
    compare xz 200 sh -c 'exec xz -9 -c </dev/zero'
fi
[ "$compared" -ge 6 ] || skip "only $compared programs could be compared"
