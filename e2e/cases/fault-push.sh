#!/bin/bash
# A real Pyroscope that is at its limit for a while, refuses the profiles of one program, and fails on them: nothing is lost
# but those, and they are counted.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need go python3
. e2e/agent/lib.sh
. e2e/faults/sum.sh
. e2e/pyroscope/lib.sh
. e2e/faults/pushed.sh

need_server
start_server v2
start_front
for name in innocent culprit; do OUT=$name build_target layout; done
cat >"$TMP/x.yaml" <<EOF
targets-only: on
targets: [{comm: innocent}, {comm: culprit}]
EOF
port=$pages start_agent --config "$TMP/x.yaml" --pyroscope-url "$front"
failed() { # REASON TIMES
    says "sum(\"export_failed_calls_total\", \"pyroscope.*$1\") >= $2"
}
dropped() { # REASON
    metric xprof_export_dropped_profiles_total "pyroscope.*$1"
}
missing() { # PROGRAM: ms that are in files, but not in Pyroscope
    echo $((($(nanoseconds_in "host/$1") - $(nanoseconds $cpu "{service_name=\"$1\"}")) / 1000000))
}
expect_innocent() {
    soon same innocent "$(nanoseconds_in host/innocent)"
}

# 429 for everything, for a while.
set_mode limited
run_for 500 culprit
run_for 500 innocent
soon failed rate-limited 3
set_mode well
soon sent
[ "$(dropped .)" = 0 ] || fail "profiles are dropped because of a limit"
soon same culprit "$(nanoseconds_in host/culprit)"
expect_innocent
echo "429: $(metric xprof_export_failed_calls_total 'pyroscope.*rate-limited') refusals, $(missing innocent) + $(missing culprit) ms lost"

# 400 for one program's.
set_mode refuse culprit
run_for 500 culprit
run_for 500 innocent
soon sent
refused=$(dropped invalid)
[ "$refused" -ge 1 ] || fail "what the server refuses is not counted"
[ "$(dropped .)" = "$refused" ] || fail "more is dropped than what was refused"
expect_innocent
echo "400: $refused profiles dropped, $(missing culprit) ms of who was refused; of others 0"

# 500 for one program's, while others pass.
before=$(missing culprit)
set_mode fail culprit
"$TMP/culprit" 300
given_up() {
    "$TMP/innocent" 50
    [ "$(dropped server-error)" -ge 1 ] && says 'sum("export_pending_profiles", "") == 0'
}
soon given_up
in_spool
set_mode well
soon sent
[ "$(dropped .)" = $((refused + $(dropped server-error))) ] || fail "more is dropped than what failed"
expect_innocent
echo "500: $(dropped server-error) profiles dropped, $(($(missing culprit) - before)) ms of who fails; of others 0"
end_agent
