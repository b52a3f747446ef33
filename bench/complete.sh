#!/bin/bash
# Benchmark 5: how many user stacks of real programs reach their root, at 99 Hz, and how many perf record with 64 KiB of stack
# gets there in the same run.
set -euo pipefail
cd "$(dirname "$0")/.."
B=${B:-build}
XPROF=${XPROF:-$B/xprof}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# shellcheck source=bench/programs.sh
. bench/programs.sh

[ "$(id -u)" = 0 ] || { echo "completeness, skip: needs root"; exit 0; }
programs_prepare

field() { sed -E "s/.*\"$1\":([0-9.]+).*/\1/" "$tmp/s.json"; }

# Share of perf's samples with a user stack whose last frame is where stacks begin.
perf_share() {
    timeout 8 perf record -e cpu-clock:u -F 99 --call-graph dwarf,65528 -o "$tmp/perf.data" -- "${command[@]}" >/dev/null 2>&1 || true
    perf script -i "$tmp/perf.data" --no-inline -F ip,sym 2>/dev/null | awk '
        NF { last = $0; next }
        last { n++; ok += last ~ /(_start|__libc_start_call_main|clone3?|start_thread|_dl_start|_dl_start_user)$/; last = "" }
        END { print n ? 100 * ok / n : 0 }'
}

for name in $(programs); do
    program "$name"
    timeout 60 "$XPROF" record -F 99 -d 8s --summary "$tmp/s.json" -o "$tmp/x.collapsed" -- "${command[@]}" >/dev/null 2>&1 || true
    theirs=$(command -v perf >/dev/null && perf_share || echo 0)
    awk -v n="$name" -v c="$(field complete)" -v u="$(field user_samples)" -v p="$theirs" 'BEGIN {
        a = u ? 100 * c / u : 0; goal = (n == "node") ? 99 : 99.5
        printf "complete stacks of %s (%%), %.2f, %.2f, %.2f, >= %s and >= perf, %s\n",
            n, a, p, (p ? a / p : 0), goal, ((a >= goal && a >= p) ? "pass" : "fail") }'
done
