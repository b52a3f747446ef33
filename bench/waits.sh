#!/bin/bash
# What following waits costs a switch of threads, beside libbpf-tools' offcputime in the same run: two processes on one CPU
# pass a byte to and fro. "other": another process is followed. "own": one of the two is. "short": one of the two is, and
# its waits are below --offcpu-min. "wake-other", "wake-own": the same with the stack of who ends each wait. "late": as
# "own", with the stacks taken by each of the other means that the kernel has.
set -euo pipefail
cd "$(dirname "$0")/.."
ROUNDS=${ROUNDS:-5}
# shellcheck source=bench/lib/agent.sh
. bench/lib/agent.sh waits
command -v offcputime >/dev/null || skip_bench "there is no offcputime (libbpf-tools)"
# shellcheck source=bench/lib/switches.sh
. bench/lib/switches.sh
sleep 1000 &
other=$!
at_exit "kill $other"
program_of() { # COMMAND
    if [ "$1" = "$XPROF" ]; then echo xp_tell_waits; else echo sched_switch; fi
}
late=$({ "$XPROF" check || true; } | sed -n 's/^ok *user stacks of waits *switch,* *//p' | tr -d ,)
for ((i = 0; i < ROUNDS; i++)); do
    switch_ns >>"$TMP/none"
    beside other "$XPROF" record -e offcpu -p $other -o "$TMP/x.pb.gz"
    beside bcc-other offcputime -p $other 1000
    beside own "$XPROF" record -e offcpu -p $player -o "$TMP/x.pb.gz"
    beside bcc-own offcputime -p $player 1000
    beside wake-other "$XPROF" record -e wakeup -p $other -o "$TMP/x.pb.gz"
    beside wake-own "$XPROF" record -e wakeup -p $player -o "$TMP/x.pb.gz"
    for by in $late; do
        beside "late-$by" "$XPROF" record -e offcpu --wait-stacks "$by" -p $player -o "$TMP/x.pb.gz"
    done
    beside short "$XPROF" record -e offcpu --offcpu-min 10ms -p $player -o "$TMP/x.pb.gz"
done
awk -v none="$(median none)" -v other="$(median other)" -v bcc_other="$(median bcc-other)" -v own="$(median own)" \
    -v bcc_own="$(median bcc-own)" -v short="$(median short)" \
    -v wake_other="$(median wake-other)" -v wake_own="$(median wake-own)" '
    function verdict(good) { return good ? "pass" : "fail" }
    BEGIN {
        a = other / none - 1; b = bcc_other / none - 1
        printf "waits other, %+.1f %% a switch, offcputime %+.1f %%, %.2f, <= 5 %% or 1.15x, %s\n", 100 * a, 100 * b,
            a / b, verdict(a <= 0.05 || a <= 1.15 * b)
        a = (own - none) / 1000; b = (bcc_own - none) / 1000
        printf "waits own, %.2f us a switch, offcputime %.2f us, %.2f, <= 1.3x, %s\n", a, b, a / b, verdict(a <= 1.3 * b)
        a = wake_other / none - 1; b = other / none - 1
        printf "waits wake-other, %+.1f %% a switch, offcpu %+.1f %%, -, -, -\n", 100 * a, 100 * b
        a = (wake_own - none) / 1000; b = (own - none) / 1000
        printf "waits wake-own, %.2f us a switch, offcpu %.2f us, %.2f, <= 2.5x, %s\n", a, b, a / b, verdict(a <= 2.5 * b)
        a = (short - none) / 1000
        printf "waits short, %.2f us a switch, %.2f us without, %.2f, <= 2 us, %s\n", a, none / 1000,
            short / none, verdict(a <= 2) }'
for by in $late; do
    awk -v by="$by" -v none="$(median none)" -v own="$(median own)" -v late="$(median "late-$by")" 'BEGIN {
        a = (late - none) / 1000; b = (own - none) / 1000
        printf "waits late-%s, %.2f us a switch, as it leaves %.2f us, %.2f, -, -\n", by, a, b, a / b }'
done
