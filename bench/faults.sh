#!/bin/bash
# What event rss costs a program that does nothing but fault in pages: CPU time of a page fault, the return of the page
# included, while another process is recorded, and while the program itself is; each against the program alone in the same
# run, in turns. The kernel calls a program at each fault: what ours costs there without a limit (--no-cap), and an empty
# one, is printed, too. What is limited is measured once the credit with which it begins is spent.
set -euo pipefail
cd "$(dirname "$0")/.."
ROUNDS=${ROUNDS:-9} SECONDS_EACH=${SECONDS_EACH:-5} SECONDS_BEFORE=${SECONDS_BEFORE:-3}
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

faults() { # FILE [SECONDS [SECONDS_BEFORE]]: appends the CPU time of a fault, in ns
    "$TMP/faulter" "${2:-$SECONDS_EACH}" "${3:-0}" >>"$TMP/$1"
}
end() { # PID
    kill -TERM "$1"
    wait "$1" || true
}
for ((i = 0; i < ROUNDS; i++)); do # what is compared with an "alone" follows it: the machine's speed changes
    faults alone
    "$XPROF" record -e rss -p $other -o "$TMP/x.collapsed" 2>/dev/null &
    recorder=$!
    at_exit "kill $recorder"
    sleep 1.5
    faults other "$SECONDS_EACH" "$SECONDS_BEFORE"
    end $recorder
    faults alone_then
    "$XPROF" record -e rss -o "$TMP/x.collapsed" -- "$TMP/faulter" "$SECONDS_EACH" "$SECONDS_BEFORE" >>"$TMP/own" 2>/dev/null
    "$XPROF" record -e rss --no-cap -o "$TMP/x.collapsed" -- "$TMP/faulter" 1 >>"$TMP/unlimited" 2>/dev/null
    "$TMP/attach" "$TMP/empty.o" >"$TMP/attached" &
    recorder=$!
    at_exit "kill $recorder"
    await grep -q attached "$TMP/attached"
    faults empty 1
    end $recorder
    : >"$TMP/attached"
done
line() { # NAME FILE ALONE [GOAL]: medians, that of the ratios too
    paste "$TMP/$2" "$TMP/$3" | awk '{ print $1 / $2, $1, $2 }' | sort -g | awk -v name="$1" -v goal="${4:-}" '
        { ratio[NR] = $1; ours[NR] = $2; its[NR] = $3 }
        END {
            m = int((NR + 1) / 2)
            printf "faults %s, %.0f ns, %.0f ns alone, %.3f, %s, %s\n", name, ours[m], its[m], ratio[m],
                goal ? "<= " goal "x" : "-", !goal ? "-" : ratio[m] <= goal ? "pass" : "fail"
        }'
}
line rss-of-another other alone 1.01
line rss own alone_then 1.01
line rss-unlimited unlimited alone_then
line empty-program empty alone_then
