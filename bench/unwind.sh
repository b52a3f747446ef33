#!/bin/bash
# Benchmark 2: what one user stack costs in the kernel, hot, at 12, 37 and 105 frames: ours by CFI, on code without frame
# pointers, against bpf_get_stack on the same code with them. Medians of each run, three runs of each in turn.
set -euo pipefail
cd "$(dirname "$0")/.."
B=${B:-build}
XPROF=${XPROF:-$B/xprof}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

[ "$(id -u)" = 0 ] || { echo "unwind, -, -, -, -, - (skipped: needs root)"; exit 0; }
make -s "$B/bench/fpstack" >&2
gcc -O2 -fomit-frame-pointer -fno-optimize-sibling-calls -o "$tmp/deep" bench/targets/deep.c
gcc -O2 -fno-omit-frame-pointer -fno-optimize-sibling-calls -o "$tmp/deepfp" bench/targets/deep.c

middle() { sort -n | sed -n 2p; }

ours() { # DEPTH: median ns, from the summary
    "$XPROF" record -F 999 -d 2s --summary "$tmp/s.json" -o "$tmp/x.collapsed" -- "$tmp/deep" "$1" 9 2>/dev/null || true
    sed -E 's/.*"unwind_ns_median":([0-9]+).*/\1/' "$tmp/s.json"
}

for depth in 7 32 100; do
    : >"$tmp/a"
    : >"$tmp/b"
    for _ in 1 2 3; do
        ours "$depth" >>"$tmp/a"
        "$B/bench/fpstack" 999 2 "$tmp/deepfp" "$depth" 9 | cut -d' ' -f1 >>"$tmp/b"
    done
    a=$(middle <"$tmp/a") b=$(middle <"$tmp/b")
    awk -v a="$a" -v b="$b" -v d=$((depth + 5)) 'BEGIN {
        r = a / b
        printf "unwind %d frames (ns), %d, %d, %.2f, <= 0.55, %s\n", d, a, b, r, r <= 0.55 ? "pass" : "fail" }'
done
