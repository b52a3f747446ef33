#!/bin/bash
# Blocked time by kernel stack, beside what libbpf-tools' offcputime and wakeuptime count of the same process at the same
# time. Theirs have all frames of the scheduler, and of what an interrupt interrupted; ours, cut at both ends, are looked
# for in them.
#  - offcputime counts time on run queues, too.
#  - Waits whose beginning the kernel did not announce are in ours only, without a stack or with an unknown waker: they
#    are told apart, and all of ours is compared with the program's own clock.
#  - wakeuptime prints sums of ns as signed numbers of 32 bits, in us: what is 2.1 s or more for one stack comes out
#    negative, or too small by 4.3 s. This program's sums stay below 4.3 s.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=bench/lib/agent.sh
. bench/lib/agent.sh offcputime
if ! command -v offcputime >/dev/null || ! command -v wakeuptime >/dev/null; then
    skip_bench "there are no offcputime and wakeuptime (libbpf-tools)"
fi

gcc -O2 -fPIC -shared -fomit-frame-pointer -o "$TMP/libchains.so" e2e/targets/chains_lib.c
build_target chains -pthread -L"$TMP" -lchains -Wl,-rpath,"$TMP"
mkfifo "$TMP/go"
{ read -r <"$TMP/go" && exec "$TMP/chains" 20 >"$TMP/own"; } &
chains=$!
at_exit "kill $chains 2>/dev/null"
recorders=()
for event in offcpu runqueue wakeup; do
    "$XPROF" record -e $event --no-cache -p $chains -o "$TMP/$event.collapsed" 2>"$TMP/$event.err" &
    recorders+=($!)
done
follow() { # PROGRAM PID...: they do, with such an eBPF program
    local name=$1 pid
    shift
    for pid; do await holds_program "$name" "$pid"; done
    sleep 1
}
follow xp_on_switch "${recorders[@]}"
offcputime --stack-storage-size 16384 -p $chains >"$TMP/offcputime" 2>/dev/null &
theirs=($!)
wakeuptime --stack-storage-size 16384 -p $chains >"$TMP/wakeuptime" 2>/dev/null &
theirs+=($!)
follow sched_switch "${theirs[0]}"
follow sched_wakeup "${theirs[1]}"
echo >"$TMP/go"
wait $chains "${recorders[@]}" 2>/dev/null || true
kill -INT "${theirs[@]}"
wait "${theirs[@]}" 2>/dev/null || true

# "ns;frame;frame..." of the program, from the root of the kernel's stack, and from the waker's wake-up on.
blocked_ours() {
    awk '/^chains;/ { ns = $NF; sub(/ [0-9]+$/, ""); n = split($0, f, ";"); out = ""
        for (i = 1; i <= n; i++)
            if (sub(/_\[k\]$/, "", f[i])) out = out ";" f[i]
        print ns out }' "$TMP/offcpu.collapsed" "$TMP/runqueue.collapsed"
}
woken_ours() {
    awk '/^chains;/ { ns = $NF; sub(/ [0-9]+$/, ""); n = split($0, f, ";"); out = ""; waker = 0
        for (i = 1; i <= n; i++) {
            if (f[i] ~ /^try_to_wake_up/) waker = 1
            if (waker && sub(/_\[k\]$/, "", f[i])) out = out ";" f[i]
        }
        print ns out }' "$TMP/wakeup.collapsed"
}
# The same of the tools: their lines are from the leaf to the root, and a number ends a stack.
blocked_theirs() {
    awk '/^ *[0-9]+$/ { printf "%.0f%s\n", $1 * 1000, kernel; kernel = ""; below = 0; next }
        /^ +[A-Za-z_]/ && !below { kernel = ";" $1 kernel; below = $1 ~ /^(entry_SYSCALL|asm_)/ }' "$TMP/offcputime"
}
woken_theirs() {
    awk '/^[ \t]+-?[0-9]+$/ { us = $1 < 0 ? $1 + 4294967.296 : $1; printf "%.0f%s\n", us * 1000, kernel
            kernel = ""; waker = 0; next }
        $1 ~ /^[0-9a-f]+$/ && NF == 2 { waker = waker || $2 ~ /^try_to_wake_up/; if (waker) kernel = kernel ";" $2 }' "$TMP/wakeuptime"
}
# Blocked time of all, and what the program has measured.
truth() {
    awk 'NR == FNR { own += $NF; next } /^chains;/ { all += $NF }
        END {
            d = all / own - 1
            printf "offcputime truth, %.4f s, own clock %.4f s, %.4f, within 1 %%, %s\n", all / 1e9, own / 1e9, all / own,
                (d < 0.01 && d > -0.01) ? "pass" : "fail"
        }' "$TMP/own" "$TMP/offcpu.collapsed"
}
# The sum of what differs, and both totals. Each of their stacks belongs to the longest of ours that it begins with.
compare() { # NAME OURS THEIRS TOOL
    awk -F';' -v name="$1" -v tool="$4" '
        function path(    p) { p = $0; sub(/^[0-9]+/, "", p); return p }
        NR == FNR { all += $1; if (path() == "") unseen += $1; else ours[path()] += $1; next }
        {
            theirs += $1
            best = "-"
            for (p in ours)
                if (index(path() ";", p ";") == 1 && (best == "-" || length(p) > length(best))) best = p
            got[best] += $1
        }
        END {
            for (p in ours) { d = ours[p] - got[p]; off += d < 0 ? -d : d }
            off += got["-"]
            printf "offcputime %s, %.4f s, %s %.4f s, %.4f, -, -\n", name, all / 1e9, tool, theirs / 1e9, all / theirs
            printf "offcputime %s by stack, %.2f %% elsewhere, -, -, <= 2 %%, %s\n", name, 100 * off / theirs,
                off <= 0.02 * theirs ? "pass" : "fail"
            printf "offcputime %s not announced, %.2f %%, -, -, -, -\n", name, 100 * unseen / all
        }' "$2" "$3"
}
truth
blocked_ours >"$TMP/a"
blocked_theirs >"$TMP/b"
compare blocked "$TMP/a" "$TMP/b" offcputime
woken_ours >"$TMP/a"
woken_theirs >"$TMP/b"
compare woken "$TMP/a" "$TMP/b" wakeuptime
