#!/bin/bash
# Go: what a table costs, and what one stack costs in the kernel: ours, exact, across stacks, against bpf_get_stack, which
# follows frame pointers and is wrong in most stacks. Medians of each run.
set -euo pipefail
cd "$(dirname "$0")/.."
B=${B:-build}
XPROF=${XPROF:-$B/xprof}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

command -v go >/dev/null || { echo "go, skip: there is no go"; exit 0; }
make -s B="$B" "$B/bench/go_rows" >&2
build() { # NAME LDFLAGS
    (cd e2e/targets/gostacks && CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS=-buildvcs=false go build -ldflags "$2" -o "$tmp/$1" .)
}
build gostacks "-s -w"
build plain -compressdwarf=false
"$B/bench/go_rows" "$tmp/gostacks" "$tmp/plain"
[ ! -e /usr/bin/prometheus ] || "$B/bench/go_rows" /usr/bin/prometheus

[ "$(id -u)" = 0 ] || { echo "go stacks, skip: needs root"; exit 0; }
make -s B="$B" "$B/bench/fpstack" >&2
for work in cpu http grow; do
    "$XPROF" record -F 999 --summary "$tmp/s.json" -o "$tmp/x.collapsed" -- "$tmp/gostacks" $work 3 >/dev/null 2>&1
    read -r ns frames _ < <("$B/bench/fpstack" 999 3 "$tmp/gostacks" $work 4 2>/dev/null | tail -n 1)
    jq -r --arg work $work --argjson fp "$ns" --arg frames "$frames" '
        "go stack, \($work) (ns; \(100 * .complete / .user_samples * 100 | round / 100) % complete; reference: " +
        "\($frames) frames), \(.unwind_ns_median), \($fp), " +
        "\(.unwind_ns_median / $fp * 100 | round / 100), -, -"' "$tmp/s.json" | sed 's/^go stack, /go stack /'
done
