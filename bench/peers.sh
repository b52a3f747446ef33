#!/bin/bash
# Benchmark 6: xprof against two other profilers of whole machines that need no frame pointers, OpenTelemetry's ebpf-profiler
# and lightswitch. Each in turn, at 99 Hz, while the same real programs run: completeness of user stacks, CPU time, memory;
# and while processes of 40 ms come and go: the share of samples that is kept. The first run builds both into the user's cache.
#
# Everybody has SETTLE seconds after its first sample; OTel has no stack of a process that it has just met. In favour of the
# peers: OTel's samples of that time and those without user frames are left out, lightswitch runs at 97 Hz (a prime).
# PROGRAMS=e2e/nocfi/programs.sh has others run: hand-written assembly.
# CPU time includes eBPF programs. Ours and lightswitch's includes naming and writing; OTel leaves naming to others.
set -euo pipefail
cd "$(dirname "$0")/.."
B=${B:-build}
XPROF=${XPROF:-$B/xprof}
SETTLE=${SETTLE:-14}
WINDOW=${WINDOW:-20}
port=$((20000 + $$ % 10000))
tmp=$(mktemp -d)
stats=/proc/sys/kernel/bpf_stats_enabled
stats_before=$(cat $stats 2>/dev/null || echo 0)
groups=() # process groups of the load
pid='' receiver='' # a profiler and what it sends to
declare -A figure
trap 'stop_load; stop "$pid" "$receiver"; echo "$stats_before" >$stats || true; rm -rf "$tmp"' EXIT
# shellcheck source=bench/programs.sh
. "${PROGRAMS:-bench/programs.sh}"
# shellcheck source=bench/peers/build.sh
. bench/peers/build.sh

# --- Load. Programs run under names of their own, lest somebody else's are counted. -----------------------------------

loop() { # SECONDS FILE COMMAND...: again and again; what `times` says then goes to the file
    # shellcheck disable=SC2016
    setsid bash -c 'end=$((SECONDS + $0)) out=$1; shift; while ((SECONDS < end)); do "$@" || break; done
        times >"$out"' "$@" >/dev/null 2>&1 &
    groups+=("-$!")
}

stop() { # ID...
    local id
    for id; do
        [ -z "$id" ] || kill -- "$id" 2>/dev/null || true
    done
}

stop_load() {
    stop "${groups[@]}"
    groups=()
}

real_programs() {
    local name
    for name in "${names[@]}"; do
        program "$name"
        ln -s "$(command -v "${command[0]}")" "$tmp/my-$name"
        loop 3600 /dev/null "$tmp/my-$name" "${command[@]:1}"
    done
}

short_lived() { # warm|short SECONDS
    loop "$2" "$tmp/$1-c.cpu" "$tmp/$1-c"
    loop "$2" "$tmp/$1-cc1.cpu" "$tmp/$1-cc1" -quiet -O1 -fpreprocessed "$tmp/short.i" -o /dev/null
}

# --- One profiler -----------------------------------------------------------------------------------------------------

profiler_command() { # TOOL: in $argv. Peers see tracefs, and a limit on locked memory that seems to be settable.
    # shellcheck disable=SC2016
    local peer=(unshare -m sh -c 'mount -t tracefs x /sys/kernel/tracing; mount -t debugfs x /sys/kernel/debug; exec "$@"' -
        "$tmp/nomemlock")
    case $1 in
    xprof) argv=("$XPROF" record -a -F 99 -o "$tmp/xprof.collapsed") ;;
    OTel)
        argv=("${peer[@]}" "$otel/ebpf-profiler" -collection-agent "127.0.0.1:$port" -disable-tls -samples-per-second 99
            -reporter-interval 1s -reporter-jitter 0 -send-error-frames)
        ;;
    lightswitch)
        argv=("${peer[@]}" "$lightswitch/bin/lightswitch" --duration 600 --sample-freq 97 --cache-dir-base "$tmp"
            --profile-format pprof --profile-path "$tmp" --profile-name lightswitch.pb)
        [ -e /proc/modules ] || argv=(env "LD_PRELOAD=$tmp/procmodules.so" "PROC_MODULES=$tmp/modules" "${argv[@]}")
        ;;
    esac
}

# All samples as lines `PROCESS complete|cut|kernel COUNT`; each profiler's own marks say which stacks are cut.
samples_of() { # TOOL SINCE
    case $1 in
    xprof)
        awk -F ';' -v period=$((1000000000 / 99)) '{ n = $NF; sub(/.* /, "", n); sub(/ [0-9]+$/, ""); gsub(/ /, "_", $1); v = "kernel"
            for (i = 2; i <= NF; i++) v = $i ~ /_\[k\]$/ ? v : "complete"
            if ($2 ~ /^\[(cut|no stack): /) v = "cut"
            if ($2 ~ /^\[no stack: (kernel-thread|no-memory-map|no-image)/) v = "kernel"
            print $1, v, n / period }' "$tmp/xprof.collapsed"
        ;;
    OTel) awk -v since="$2" '$1 >= since { print $2, $3, 1 }' "$tmp/otlp" ;;
    lightswitch)
        go tool pprof -traces -symbolize=none -sample_index=0 "$tmp/lightswitch.pb" 2>/dev/null | awk '
            function flush() { if (n) print t ~ /^short-/ ? t : p, v, n; n = 0; v = "complete" }
            /^-----/ { flush() } /^process.name:/ { p = $2 } /^thread.name:/ { t = $2 }
            /^ +[0-9]+ / { n = $1 } /error\/unwinder/ { v = "cut" } END { flush() }'
        ;;
    esac
}

of_all() { # FILE PID: that file of a process and of its children
    { echo "$2"; pgrep -P "$2" || true; } | while read -r pid; do cat "/proc/$pid/$1" 2>/dev/null || true; done
}
cpu_seconds() { # PID
    of_all stat "$1" |
        awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); t += $12 + $13 + $14 + $15 } END { print t / hz }'
}
rss_megabytes() { of_all status "$1" | awk '/^VmRSS/ { s += $2 } END { print s * 1024 / 1e6 }'; }
of_bpf() { # FIELD ID PID: the sum of a field over the eBPF objects of a process that have such an id
    { cat "/proc/$3/fdinfo/"* 2>/dev/null || true; } | awk -v field="$1:" -v id="$2:" '
        $1 == "pos:" { value = key = "" } $1 == field { value = $2 } $1 == id { key = $2 }
        value != "" && key != "" { v[key] = value }
        END { for (k in v) s += v[k]; print s / 1e6 }'
}
bpf_ms() { of_bpf run_time_ns prog_id "$1"; }

start_profiler() { # TOOL: its process in $pid; at its end its CPU time is in $tmp/cpu. Waits for its first sample.
    local TIMEFORMAT='%U %S' i
    if [ "$1" = OTel ]; then
        "$otel/otlprecv" "127.0.0.1:$port" "$tmp/otlp" &
        receiver=$!
        sleep 0.5
    fi
    profiler_command "$1"
    rm -f "$tmp/pid"
    # shellcheck disable=SC2016
    { time sh -c 'echo $$ >"$0"; exec "$@"' "$tmp/pid" "${argv[@]}" >"$tmp/$1.log" 2>&1; } 2>"$tmp/cpu" &
    runner=$!
    for ((i = 0; i < 120; i++)); do
        sleep 0.5
        pid=$(cat "$tmp/pid" 2>/dev/null || true)
        [ -z "$pid" ] || [ "$(bpf_ms "$pid")" = 0 ] || break
    done
}

session() { # TOOL real|short: figures of one profiler in one situation
    local key=$1:$2 since before runner
    echo "peers: $1, $2" >&2
    : >"$tmp/$1.$2"
    [ "$2" = real ] || short_lived warm 3600
    start_profiler "$1"
    sleep "$SETTLE"
    [ "$2" = real ] || { stop_load && short_lived short $((WINDOW - 2)); }
    since=$EPOCHREALTIME
    before=$(echo "$(cpu_seconds "$pid") $(bpf_ms "$pid")" | awk '{ print $1 + $2 / 1e3 }')
    sleep "$WINDOW"
    kill -0 "$pid" || { echo "peers: $1 has ended: $(tail -n 3 "$tmp/$1.log")" >&2 && [ "$1" != xprof ] && return; }
    figure[$key:start]=$before
    figure[$key:rss]=$(rss_megabytes "$pid")
    figure[$key:maps]=$(of_bpf memlock map_id "$pid")
    bpf_ms "$pid" >"$tmp/bpf"
    kill -INT "$pid" || true
    wait "$runner" || true
    stop "$receiver"
    pid='' receiver=''
    figure[$key:cpu]=$(cat "$tmp/cpu" "$tmp/bpf" | tail -n 2 | awk -v before="$before" -v s="$WINDOW" '
        NR == 1 { t = $1 + $2 } END { print (t + $1 / 1e3 - before) / s }')
    samples_of "$1" "$since" >"$tmp/$1.$2"
    [ -s "$tmp/$1.$2" ] || tail -n 3 "$tmp/$1.log" >&2
}

# --- Figures ----------------------------------------------------------------------------------------------------------

count() { awk -v name="$2" -v verdict="$3" '$1 == name && $2 ~ verdict { n += $3 } END { print n + 0 }' "$tmp/$1"; }

complete() { # TOOL PROGRAM: per cent; nothing when there are too few samples
    awk -v c="$(count "$1.real" "$2" complete)" -v x="$(count "$1.real" "$2" cut)" \
        'BEGIN { if (c + x >= 30) print 100 * c / (c + x) }'
}

kept() { # TOOL PROGRAM: per cent of the samples that its CPU time is worth
    awk -F '[ms ]+' -v n="$(count "$1.short" "$2" .)" -v hz="$([ "$1" = lightswitch ] && echo 97 || echo 99)" \
        'NR == 2 && n { print 100 * n / (($1 + $3) * 60 + $2 + $4) / hz }' "$tmp/$1.$2.cpu"
}

line() { # NAME OURS THEIRS GOAL: "<= peer", ">= peer" or ">= peer or NUMBER"
    [ -n "$3" ] || { echo "$1, skip: the peer gave no figure, or has ended" && return; }
    awk -v n="$1" -v a="${2:-0}" -v b="$3" -v g="$4" 'BEGIN {
        ok = g ~ /^<=/ ? a <= b : a >= b || (g ~ / or / && a >= substr(g, index(g, "or ") + 3) + 0)
        printf "%s, %.4g, %.4g, %.2f, %s, %s\n", n, a, b, b ? a / b : 0, g, ok ? "pass" : "fail" }'
}

compare() { # PEER
    local name kind what
    for name in "${names[@]}"; do
        line "$1: complete stacks of $name (%)" "$(complete xprof "my-$name")" "$(complete "$1" "my-$name")" ">= peer or 99.5"
    done
    for name in short-c short-cc1; do
        line "$1: samples kept of $name (%)" "$(kept xprof $name)" "$(kept "$1" $name)" ">= peer"
    done
    for kind in real short; do
        for what in "start:CPU at the start (s)" "cpu:CPU in the long run (s/s)" "rss:memory (MB)" "maps:eBPF maps (MB)"; do
            line "$1: ${what#*:} - $kind" "${figure[xprof:$kind:${what%%:*}]}" "${figure[$1:$kind:${what%%:*}]:-}" "<= peer"
        done
    done
}

# --- All --------------------------------------------------------------------------------------------------------------

[ "$(id -u)" = 0 ] || { echo "peers, skip: needs root"; exit 0; }
peers=()
! built "$otel" build_otel || peers+=(OTel)
! built "$lightswitch" build_lightswitch || peers+=(lightswitch)
[ ${#peers[@]} -gt 0 ] || exit 0
build_helpers
programs_prepare
mapfile -t names < <(programs)
echo 1 >$stats
real_programs
sleep 2
for tool in xprof "${peers[@]}"; do
    session "$tool" real
done
stop_load
for tool in xprof "${peers[@]}"; do
    session "$tool" short
    for name in short-c short-cc1; do
        mv "$tmp/$name.cpu" "$tmp/$tool.$name.cpu"
    done
done
for peer in "${peers[@]}"; do
    compare "$peer"
done
