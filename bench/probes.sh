#!/bin/bash
# What probes do to a program that calls a function a million times a second: its speed with the cost cap (ours), and
# without one (reference), in percent of its speed without probes. For a function that begins with an instruction that
# the kernel emulates (tick), and for one whose first instruction it steps over (tock).
set -euo pipefail
cd "$(dirname "$0")/.."
XPROF=$(realpath "${XPROF:-${B:-build}/xprof}")
SECONDS_EACH=${SECONDS_EACH:-10}
GOAL=${GOAL:-75} # percent: 5 % are the limit; what happens before it is noticed, and attaching, come on top
[ "$(id -u)" = 0 ] || { echo "probes, skip: needs root"; exit 0; }
grep -q bpf_uprobe_multi_link_attach /proc/kallsyms || { echo "probes, skip: needs uprobe_multi links (Linux 6.6)"; exit 0; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
gcc -O2 -o "$tmp/ticks" e2e/targets/ticks.c

speed() { # OPTION...: calls
    "$XPROF" record --no-cache "$@" -o "$tmp/x.pb.gz" -- "$tmp/ticks" "$SECONDS_EACH" 2>>"$tmp/messages"
}
of() { # CALLS: percent
    awk -v n="$1" -v all="$alone" 'BEGIN { printf "%.1f", 100 * n / all }'
}

for function in tick tock; do
    for form in uprobe uretprobe uprobe-latency; do
        alone=$("$tmp/ticks" "$SECONDS_EACH")
        ours=$(of "$(speed -e "$form:$tmp/ticks:$function")")
        reference=$(of "$(speed -e "$form:$tmp/ticks:$function" --no-cap)")
        awk -v name="probes $form $function" -v ours="$ours" -v reference="$reference" -v goal="$GOAL" 'BEGIN {
            printf "%s, %s %% of the speed, %s %%, %.2f, >= %d %%, %s\n", name, ours, reference, ours / reference, goal,
                   (ours >= goal ? "pass" : "fail") }'
    done
done
grep 'was recorded' "$tmp/messages" >&2
