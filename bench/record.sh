#!/bin/bash
# Benchmark 4: what a whole recording of a machine with both CPUs busy costs: `xprof record -a -F 99` against `perf record
# -a -F 99`, with frame pointers and with 64 KiB of stack, perf script included, since only then stacks have names.
set -euo pipefail
cd "$(dirname "$0")/.."
B=${B:-build}
XPROF=${XPROF:-$B/xprof}
SECONDS_EACH=${SECONDS_EACH:-10}
tmp=$(mktemp -d)
load=()
trap '[ ${#load[@]} = 0 ] || kill "${load[@]}" 2>/dev/null; rm -rf "$tmp"' EXIT
# shellcheck source=bench/programs.sh
. bench/programs.sh

[ "$(id -u)" = 0 ] || { echo "record -a, skip: needs root"; exit 0; }
programs_prepare
for name in clang python3; do
    program "$name"
    "${command[@]}" >/dev/null 2>&1 &
    load+=($!)
done
sleep 2

field() { sed -E "s/.*\"$1\":([0-9.]+).*/\1/" "$tmp/s.json"; }

cpu_of() { # COMMAND...: its user and system time, seconds
    local TIMEFORMAT='%U %S'
    { time "$@" >/dev/null 2>&1; } 2>&1 | awk '{ print $1 + $2 }'
}

perf_cost() { # CALL GRAPH: CPU seconds a second, record and script
    local record script
    record=$(cpu_of perf record -a -e cpu-clock -F 99 --call-graph "$1" -o "$tmp/perf.data" -- sleep "$SECONDS_EACH")
    script=$(cpu_of perf script -i "$tmp/perf.data" --no-inline)
    awk -v a="$record" -v b="$script" -v s="$SECONDS_EACH" 'BEGIN { print (a + b) / s }'
}

line() { # NAME OURS REFERENCE GOAL: a ratio below the goal passes
    awk -v n="$1" -v a="$2" -v b="$3" -v g="$4" 'BEGIN {
        r = a / b
        printf "%s, %.4f, %.4f, %.2f, %s, %s\n", n, a, b, r, g == "-" ? "-" : "<= " g, g == "-" ? "-" : r <= g ? "pass" : "fail" }'
}
budget() { # NAME OURS BUDGET
    awk -v n="$1" -v a="$2" -v b="$3" 'BEGIN { printf "%s, %.4f, %.4f, %.2f, <= budget, %s\n", n, a, b, a / b, a <= b ? "pass" : "fail" }'
}

whole() { # SECONDS: CPU time of a recording, ours and in the kernel
    "$XPROF" record -a -F 99 -d "$1s" -o "$tmp/x.pb.gz" --summary "$tmp/s.json" 2>/dev/null
    awk -v c="$(field agent_cpu_seconds)" -v n="$(field samples)" -v t="$(field bpf_ns_per_sample)" \
        'BEGIN { print c + n * t / 1e9 }'
}

whole 1 >/dev/null # tables to disk, as on any machine but the first time
short=$(whole 2)
long=$(whole $((SECONDS_EACH + 2)))
steady=$(awk -v a="$short" -v b="$long" -v s="$SECONDS_EACH" 'BEGIN { print (b - a) / s }')
total=$(awk -v b="$long" -v s="$SECONDS_EACH" 'BEGIN { print b / (s + 2) }')
cat "$tmp/s.json" >&2

budget "record -a in the long run (CPU s/s; budget 0.8 % of a core)" "$steady" 0.008
budget "memory of the agent (MB)" "$(awk -v b="$(field rss_bytes)" 'BEGIN { print b / 1e6 }')" 25
budget "eBPF maps (MB; budget 8 and 4.3 bytes a row)" "$(awk -v b="$(field map_bytes)" 'BEGIN { print b / 1e6 }')" \
    "$(awk -v r="$(field rows)" 'BEGIN { print 8 + 4.3 * r / 1e6 }')"
budget "start to first sample (s)" "$(field startup_seconds)" 0.3
if command -v perf >/dev/null; then
    line "record -a against perf fp (CPU s/s)" "$total" "$(perf_cost fp)" -
    line "record -a against perf dwarf 64K (CPU s/s)" "$total" "$(perf_cost dwarf,65528)" 1
else
    echo "record -a against perf, skip: perf is not installed"
fi
