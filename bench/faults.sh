#!/bin/bash
# What event rss costs a program that does nothing but fault in pages: CPU time of a page fault, the return of the page
# included, while another process is recorded, and while the program itself is; each against the program alone in the same
# run, in turns. The kernel calls a program at each fault: what an empty one costs there is printed, too.
set -euo pipefail
cd "$(dirname "$0")/.."
ROUNDS=${ROUNDS:-9} SECONDS_EACH=${SECONDS_EACH:-1}
# shellcheck source=bench/lib/agent.sh
. bench/lib/agent.sh faults
kernel=$(uname -r)
printf '5.12\n%s\n' "${kernel%%-*}" | sort -VC || skip_bench "rss needs Linux 5.12"
gcc -O2 -o "$TMP/faulter" bench/targets/faulter.c
sleep 3600 &
other=$!
at_exit "kill $other"

# A program on the same tracepoint that does nothing.
clang -O2 -g -target bpf -c -o "$TMP/empty.o" bench/ref/rss.bpf.c
gcc -O1 -o "$TMP/attach" bench/ref/attach.c -lbpf

faults() { # FILE: appends the CPU time of a fault, in ns
    "$TMP/faulter" "$SECONDS_EACH" >>"$TMP/$1"
}
end() { # PID
    kill -TERM "$1"
    wait "$1" || true
}
for ((i = 0; i < ROUNDS; i++)); do
    faults alone
    "$XPROF" record -e rss -p $other -o "$TMP/x.collapsed" 2>/dev/null &
    recorder=$!
    at_exit "kill $recorder"
    sleep 1.5
    faults other
    end $recorder
    "$XPROF" record -e rss -o "$TMP/x.collapsed" -- "$TMP/faulter" "$SECONDS_EACH" >>"$TMP/own" 2>/dev/null
    "$TMP/attach" "$TMP/empty.o" >"$TMP/attached" &
    recorder=$!
    at_exit "kill $recorder"
    await grep -q attached "$TMP/attached"
    faults empty
    end $recorder
    : >"$TMP/attached"
done
median() { # FILE
    sort -g "$TMP/$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}
awk -v alone="$(median alone)" -v other="$(median other)" -v own="$(median own)" -v empty="$(median empty)" '
    function line(name, ours, goal, verdict) {
        printf "faults %s, %.0f ns, %.0f ns alone, %.3f, %s, %s\n", name, ours, alone, ours / alone, goal, verdict
    }
    BEGIN {
        line("rss-of-another", other, "<= 1.01x", other / alone <= 1.01 ? "pass" : "fail")
        line("rss", own, "<= 1.01x", own / alone <= 1.01 ? "pass" : "fail")
        line("empty-program", empty, "-", "-")
    }'
