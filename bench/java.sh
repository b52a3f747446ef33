#!/bin/bash
# Benchmark: Java, xprof against async-profiler, perf with a map of the JVM's, and OpenTelemetry's ebpf-profiler, each at
# 99 Hz on a program of its own: complete stacks, stacks with all inlined calls, CPU time of the profiler, and how much less
# the program gets done. JAVA is the virtual machine; ROUNDS are taken one tool after the other, the median counts.
#
# Inlined calls have no goal: async-profiler turns on -XX:+DebugNonSafepoints when it is loaded; without that, a loop counts
# for the method that it is inlined into (docs/java.md). async-profiler comes from the Maven repository whose address is in
# MAVEN_REPOSITORY; it runs within the program, so that it has no CPU time of its own.
set -euo pipefail
cd "$(dirname "$0")/.."
B=${B:-build}
XPROF=${XPROF:-$B/xprof}
JAVA=${JAVA:-java}
ROUNDS=${ROUNDS:-3}
ASYNC=4.2
tmp=$(mktemp -d)
port=$((20000 + $$ % 10000))
ours='' receiver='' # processes to be ended
trap '[ -z "$ours$receiver" ] || kill $ours $receiver 2>/dev/null; rm -rf "$tmp"' EXIT
# shellcheck source=bench/peers/build.sh
. bench/peers/build.sh

get_async() { # FOLDER
    needs curl unzip || return 1
    [ -n "${MAVEN_REPOSITORY:-}" ] || skipped async-profiler "set MAVEN_REPOSITORY to the address of a repository" || return 1
    curl -sSfL -o "$1/a.jar" "$MAVEN_REPOSITORY/tools/profiler/async-profiler/$ASYNC/async-profiler-$ASYNC.jar" &&
        unzip -qoj "$1/a.jar" linux-x64/libasyncProfiler.so -d "$1"
}

skipped() { # TOOL WHY
    echo "Java: $1, skip: $2"
    return 1
}

can() { # TOOL
    case $1 in
    async-profiler) built "$async" get_async ;;
    perf) command -v perf >/dev/null || skipped perf "it is not installed" ;;
    OTel) built "$otel" build_otel ;;
    esac
}

cpu_of() { # PID: of it and its children, in s
    { echo "$1" && { pgrep -P "$1" || true; }; } | while read -r pid; do cat "/proc/$pid/stat" 2>/dev/null || true; done |
        awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); t += $12 + $13 } END { print t / hz }'
}

# Starts a profiler of the program for seconds 3 to 11 of its 12; its process is in $ours.
profile() { # TOOL PID
    case $1 in
    xprof) "$XPROF" record -F 99 -d 8s --summary "$tmp/summary" -o "$tmp/stacks.collapsed" -p "$2" 2>"$tmp/log" & ;;
    perf) perf record -q -F 99 -e cpu-clock -g -p "$2" -o "$tmp/perf.data" -- sleep 8 2>"$tmp/log" & ;;
    OTel)
        "$otel/otlprecv" "127.0.0.1:$port" "$tmp/otlp" >"$tmp/receiver" 2>&1 &
        receiver=$!
        # shellcheck disable=SC2016
        unshare -m sh -c 'mount -t tracefs x /sys/kernel/tracing; mount -t debugfs x /sys/kernel/debug; exec "$@"' - \
            "$tmp/nomemlock" "$otel/ebpf-profiler" -collection-agent "127.0.0.1:$port" -disable-tls -samples-per-second 99 \
            -reporter-interval 1s -reporter-jitter 0 -send-error-frames >"$tmp/log" 2>&1 &
        ;;
    *) return 0 ;;
    esac
    ours=$!
}

# Lines "complete INLINED COUNT" or "cut INLINED COUNT" of the stacks with the program's work. INLINED: 1 if all five calls
# are there, - if that is not known.
stacks_of() { # TOOL
    case $1 in
    xprof | async-profiler)
        awk '/Work.part/ { print $0 ~ /\[cut: |^\[(unknown|break)/ ? "cut" : "complete", $0 ~ /in1;Work.in2;Work.in3;Work.in4;Work.in5/, $NF }' \
            <(tr / . <"$tmp/stacks.collapsed")
        ;;
    perf)
        perf script -i "$tmp/perf.data" -F ip,sym 2>/dev/null | awk -v RS= '/Work|Interpreter/ {
            print /start_thread|clone/ ? "complete" : "cut", /Work.*in1.*\n/ && /in5/, 1 }'
        ;;
    OTel) awk '$2 ~ /my-java/ && $3 != "kernel" { print $3, "-", 1 }' "$tmp/otlp" ;;
    esac
}

note() { # TOOL WHAT VALUE
    [ -z "$3" ] || echo "$3" >>"$tmp/$1.$2"
}

once() { # TOOL
    local java flags=() cpu=''
    [ "$1" != async-profiler ] || flags=("-agentpath:$async/libasyncProfiler.so=start,event=ctimer,interval=10101us,cstack=vmx,collapsed,file=$tmp/stacks.collapsed")
    [ "$1" != perf ] || flags=(-XX:+PreserveFramePointer -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit)
    rm -f "$tmp/stacks.collapsed" "$tmp/otlp"
    ours=
    "$tmp/my-java" "${flags[@]}" -cp "$tmp" Work 12 >"$tmp/done" &
    java=$!
    sleep 3
    profile "$1" $java
    sleep 7.5
    [ -z "$ours" ] || cpu=$(cpu_of "$ours")
    wait $java
    [ "$1" != OTel ] || kill $ours $receiver 2>/dev/null || true
    [ -z "$ours" ] || wait "$ours" 2>/dev/null || true
    ours='' receiver=''
    note "$1" rate "$(sed -n 5,10p "$tmp/done" | awk '{ n += $1 } END { print n / NR }')"
    note "$1" cpu "$(awk -v t="$cpu" 'BEGIN { if (t != "") print 100 * t / 7.5 }')"
    [ "$1" != none ] || return 0
    stacks_of "$1" >"$tmp/judged"
    note "$1" complete "$(awk '{ n += $3; if ($1 == "complete") c += $3 } END { if (n) print 100 * c / n }' "$tmp/judged")"
    note "$1" inlined "$(awk '$2 != "-" { n += $3; c += $2 * $3 } END { if (n) print 100 * c / n }' "$tmp/judged")"
}

median() { # TOOL WHAT
    [ ! -s "$tmp/$1.$2" ] || sort -g "$tmp/$1.$2" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

line() { # NAME OURS THEIRS GOAL
    if [ -z "$2" ] || [ -z "$3" ]; then
        echo "$1, skip: there is no figure"
        return
    fi
    awk -v n="$1" -v a="$2" -v b="$3" -v g="$4" 'BEGIN {
        ok = g == "-" ? "-" : g ~ /^<=/ ? a <= b : a >= b || a >= 99.5
        printf "%s, %.4g, %.4g, %.2f, %s, %s\n", n, a, b, b ? a / b : 0, g, ok == "-" ? ok : ok ? "pass" : "fail" }'
}

slowdown() { # TOOL: in percent
    awk -v t="$(median "$1" rate)" -v n="$(median none rate)" 'BEGIN { print 100 * (n - t) / n }'
}

[ "$(id -u)" = 0 ] || { echo "Java, skip: needs root" && exit 0; }
needs "$JAVA" javac >&2 || { echo "Java, skip: there is no JDK" && exit 0; }
async=$cache/async-profiler-$ASYNC
tools=(none xprof)
for tool in async-profiler perf OTel; do
    if can "$tool"; then tools+=("$tool"); fi
done
javac -d "$tmp" bench/peers/Work.java
ln -s "$(command -v "$JAVA")" "$tmp/my-java"
gcc -D_GNU_SOURCE -O2 -Wall -o "$tmp/nomemlock" bench/peers/nomemlock.c
for ((round = 0; round < ROUNDS; round++)); do
    for tool in "${tools[@]}"; do
        echo "java: $tool" >&2
        once "$tool"
    done
done
for tool in "${tools[@]:2}"; do
    line "Java: $tool: complete stacks (%)" "$(median xprof complete)" "$(median "$tool" complete)" ">= peer or 99.5"
    line "Java: $tool: all inlined calls (%)" "$(median xprof inlined)" "$(median "$tool" inlined)" "-"
    line "Java: $tool: CPU time, its start included (%)" "$(median xprof cpu)" "$(median "$tool" cpu)" "-"
    line "Java: $tool: slow-down of the program (%)" "$(slowdown xprof)" "$(slowdown "$tool")" "-"
done
