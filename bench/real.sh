#!/bin/bash
# Benchmark 3: what one user stack of a real program costs in the kernel, at 99 and 999 Hz: ours, whole stacks by CFI, against
# bpf_get_stack on the same program, which cannot follow code without frame pointers. Medians of each run.
set -euo pipefail
cd "$(dirname "$0")/.."
B=${B:-build}
XPROF=${XPROF:-$B/xprof}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# shellcheck source=bench/programs.sh
. bench/programs.sh

[ "$(id -u)" = 0 ] || { echo "real programs, -, -, -, -, - (skipped: needs root)"; exit 0; }
make -s "$B/bench/fpstack" >&2
programs_prepare

field() { sed -E "s/.*\"$1\":([0-9.]+).*/\1/" "$tmp/s.json"; }

for name in $(programs); do
    for hz in 99 999; do
        seconds=$((hz == 99 ? 8 : 4))
        program "$name"
        "$XPROF" record -F $hz -d ${seconds}s --summary "$tmp/s.json" -o "$tmp/x.collapsed" -- "${command[@]}" >/dev/null 2>&1 || true
        # shellcheck disable=SC2016
        read -r ns frames _ < <("$B/bench/fpstack" $hz $seconds \
            bash -c 'exec "$@" >/dev/null' - "${command[@]}" 2>/dev/null | tail -n 1)
        awk -v a="$(field unwind_ns_median)" -v b="$ns" -v f="$frames" -v n="$name" -v hz=$hz -v c="$(field complete)" \
            -v u="$(field user_samples)" 'BEGIN {
            printf "%s at %d Hz (ns; %.2f %% complete; reference: %.0f frames), %d, %d, %s, -, -\n",
                n, hz, u ? 100 * c / u : 0, f, a, b, (b > 0 ? sprintf("%.2f", a / b) : "-") }'
    done
done
