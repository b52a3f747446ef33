#!/bin/bash
# Benchmark: what Java costs. One stack of 60 frames of compiled methods in the kernel, against bpf_get_stack on the same
# program with frame pointers; naming 20,000 methods that are met in one second; memory for a virtual machine of 30,000
# methods, against the map of its names that the JVM writes for perf; and how soon the first stack with names is there,
# after the start of the virtual machine, and of the recording. JAVA is the virtual machine.
set -euo pipefail
cd "$(dirname "$0")/.."
B=${B:-build}
XPROF=${XPROF:-$B/xprof}
JAVA=${JAVA:-java}
tmp=$(mktemp -d)
java='' recorder='' # processes to be ended
trap '[ -z "$java$recorder" ] || kill $java $recorder 2>/dev/null || true; rm -rf "$tmp"' EXIT

[ "$(id -u)" = 0 ] || { echo "Java's cost, skip: needs root" && exit 0; }
for program in "$JAVA" javac jcmd jq pgrep; do
    command -v "$program" >/dev/null || { echo "Java's cost, skip: there is no $program" && exit 0; }
done
make -s "$B/bench/fpstack" >&2
javac --release 17 -d "$tmp" bench/targets/Deep.java bench/peers/Work.java

ready() { # ARGUMENT...: of Deep, with flags of the virtual machine before its name
    : >"$tmp/out" # what an earlier one said is gone before this one begins
    "$JAVA" -cp "$tmp" "$@" >"$tmp/out" &
    java=$!
    until [ -s "$tmp/out" ]; do sleep 0.05; done
}

quit() {
    kill $java 2>/dev/null || true
    wait $java 2>/dev/null || true
    java=
}

line() { # NAME OURS REFERENCE GOAL: at most; REFERENCE "-": there is none
    awk -v n="$1" -v a="$2" -v b="$3" -v g="$4" 'BEGIN {
        printf "%s, %.4g, %s, %s, <= %s, %s\n", n, a, b, b == "-" || !b ? "-" : sprintf("%.2f", a / b), g, a <= g ? "pass" : "fail" }'
}

middle() { sort -n | sed -n 2p; }

# ---- One stack -----------------------------------------------------------------------------------------------------
frames() { # in user space, of most samples
    sed -E 's/ [0-9]+$//' "$tmp/x.collapsed" | awk -F '; *' '{ n = 0; for (i = 2; i <= NF; i++) n += $i !~ /_\[k\]$/; c[n]++ }
        END { for (n in c) print c[n], n }' | sort -rn | sed -n '1s/.* //p'
}

stack() {
    local depth=48 n
    for _ in 1 2 3; do
        ready -XX:-Inline Deep frames $depth 4
        "$XPROF" record -F 999 -d 2s --summary "$tmp/s.json" -o "$tmp/x.collapsed" -p $java 2>/dev/null
        quit
        jq .unwind_ns_median "$tmp/s.json" >>"$tmp/ours"
        n=$(frames)
        "$B/bench/fpstack" 999 4 "$JAVA" -XX:-Inline -XX:+PreserveFramePointer -cp "$tmp" Deep frames $depth 2 |
            grep -v ready | cut -d' ' -f1 >>"$tmp/theirs"
    done
    line "Java: a stack of $n frames (ns)" "$(middle <"$tmp/ours")" "$(middle <"$tmp/theirs")" 3000
}

# ---- Names and memory ----------------------------------------------------------------------------------------------
cpu_of() { # PID: of it and its children, in ms
    { echo "$1" && pgrep -P "$1"; } | while read -r pid; do cat "/proc/$pid/stat" 2>/dev/null || true; done |
        awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); t += $12 + $13 } END { print 1000 * t / hz }'
}

memory_of() { # PID: of it and its children, in KiB
    { echo "$1" && pgrep -P "$1"; } | while read -r pid; do cat "/proc/$pid/smaps_rollup" 2>/dev/null || true; done |
        awk '/^Pss:/ { n += $2 } END { print n }'
}

# A JVM that has all its methods compiled is quiet for 8 s; the fifth of them is what a recording costs without new names.
methods() { # COUNT: sets $quiet $first $later, CPU time of a second each, and $before $after, of memory
    local at=() flags=(-XX:TieredStopAtLevel=1 -XX:-Inline -XX:CompileThresholdScaling=0.1)
    ready "${flags[@]}" Deep methods "$1" 8 9
    "$XPROF" record -F 99 -d 15s -o "$tmp/m.collapsed" -p $java 2>/dev/null &
    recorder=$!
    for pause in 4 1 1 5 1; do
        sleep $pause
        at+=("$(cpu_of $recorder)")
        [ ${#at[@]} != 3 ] || before=$(memory_of $recorder)
    done
    after=$(memory_of $recorder)
    quiet=$(awk -v a="${at[0]}" -v b="${at[2]}" 'BEGIN { print (b - a) / 2 }')
    first=$(awk -v a="${at[2]}" -v b="${at[3]}" -v q="$quiet" 'BEGIN { print b - a - 5 * q }')
    later=$(awk -v a="${at[3]}" -v b="${at[4]}" -v q="$quiet" 'BEGIN { print b - a - q }')
    if [ -n "${2:-}" ]; then
        jcmd $java Compiler.perfmap >/dev/null && stat -c %s "/tmp/perf-$java.map" >"$tmp/map"
        rm -f "/tmp/perf-$java.map"
    fi
    wait $recorder
    recorder=
    quit
    met=$(grep -oE 'Made[0-9]+\.method[0-9]+' "$tmp/m.collapsed" | sort -u | wc -l)
}

# ---- How soon ------------------------------------------------------------------------------------------------------
unnamed() { # ms of the thread that runs the program, in stacks without its methods
    awk '/;JavaMain;/ && !/;Work\.main/ { n += $NF } END { print n / 1e6 }' "$tmp/x.collapsed"
}

soon() {
    "$XPROF" record -F 999 -d 2s -o "$tmp/x.collapsed" -- "$JAVA" -cp "$tmp" Work 3 >/dev/null 2>&1 || true
    line "Java: time of a program's thread before its first named stack (ms)" "$(unnamed)" - 1000
    ready Work 60
    "$XPROF" record -F 999 -d 2s -o "$tmp/x.collapsed" -p $java 2>/dev/null
    quit
    line "Java: the same of a program that runs already (ms)" "$(unnamed)" - 1000
}

stack
methods 20000
line "Java: naming $met methods of 20000 that are met in a second: CPU time (ms)" "$first" - 100
line "Java: the same each second from then on (ms)" "$later" - 20
methods 30000 map
line "Java: memory for a JVM of 30000 compiled methods (KiB)" $((after - before)) "$(($(<"$tmp/map") / 1024))" 8192
soon
