#!/bin/bash
# What `xprof agent` costs beside two busy cores whose code is always new to it: a compiler in a loop, and a minifier of
# JavaScript. At 99 Hz: CPU of the agent with its parser, and of its eBPF programs, in the first 20 s with an empty cache
# directory (cold), and again with what that run left there (warm); then in percent of a core over SPAN more seconds. The
# reference is OpenTelemetry's ebpf-profiler beside the same load, when bench/peers.sh has built it; it keeps no cache, and
# leaves naming to others. The load runs in a container of its own, and only that is profiled; the reference profiles all
# of the machine, so let nothing else run.
# TERSER is the module to minify with; else a loop that does much the same.
set -euo pipefail
cd "$(dirname "$0")/.."
XPROF=$(realpath "${XPROF:-${B:-build}/xprof}")
SPAN=${SPAN:-40}
[ "$(id -u)" = 0 ] || { echo "busy, skip: needs root"; exit 0; }
for tool in clang node; do
    command -v $tool >/dev/null || { echo "busy, skip: $tool is not installed"; exit 0; }
done
tmp=$(mktemp -d)
stats=/proc/sys/kernel/bpf_stats_enabled
stats_before=$(cat $stats)
load=()
groups=()
pid='' receiver=''
clean_up() {
    kill -- "${load[@]/#/-}" ${pid:+"$pid"} ${receiver:+"$receiver"} 2>/dev/null || true
    echo "$stats_before" >$stats
    sleep 1
    for group in "${groups[@]}"; do rmdir "$group/docker/$container" "$group/docker" "$group" 2>/dev/null || true; done
    rm -rf "$tmp"
}
trap clean_up EXIT
# shellcheck source=bench/peers/build.sh
. bench/peers/build.sh
echo 1 >$stats

cat >"$tmp/minify.js" <<'END'
const fs = require("fs"), source = process.argv[3] || process.argv[1]
const terser = process.argv[2] && require(process.argv[2])
const text = fs.readFileSync(source, "utf8").repeat(terser ? 1 : 2000)
const pattern = /\/\/[^\n]*|\/\*[^]*?\*\/|"(?:[^"\\]|\\.)*"|`[^`]*`|[A-Za-z_$][\w$]*|\d+|\s+|./g
function minify() {
    const names = new Map(), out = []
    for (const [token] of text.matchAll(pattern)) {
        if (/^\s|^\/[/*]/.test(token)) continue
        if (/^[a-z]/.test(token)) names.set(token, (names.get(token) || 0) + 1)
        out.push(token)
    }
    const order = [...names].sort((a, b) => b[1] - a[1]).map(([name], i) => [name, i.toString(36)])
    const short = new Map(order)
    return out.map((token) => short.get(token) || token).join(" ").length
}
(async () => { for (;;) terser ? await terser.minify(text) : minify() })()
END
container=$(printf 'b5%.0s' {1..32})
printf 'targets:\n  - container-id: %s\ntargets-only: on\n' "$container" >"$tmp/targets.yaml"
make_container() {
    local root
    for root in /sys/fs/cgroup /sys/fs/cgroup/*; do
        [ -e "$root/cgroup.procs" ] || continue
        groups+=("$root/xprof-busy-$$")
        mkdir -p "$root/xprof-busy-$$/docker/$container"
    done
}

contained() { # COMMAND...: in a session of its own
    # shellcheck disable=SC2016
    setsid bash -c 'n=$1; shift; for ((i = 0; i < n; i++)); do echo $$ >"$1"; shift; done 2>/dev/null; exec "$@"' - \
        ${#groups[@]} "${groups[@]/%//docker/$container/cgroup.procs}" "$@" >/dev/null 2>&1 &
    load+=($!)
}

start_load() {
    local sources=(agent/dwarf/*.c agent/cfi/*.c)
    # shellcheck disable=SC2016
    contained bash -c 'while :; do for f; do clang -O2 -g -w -D_GNU_SOURCE -Iagent -I. -c "$f" -o /dev/null; done; done' - \
        "${sources[@]}"
    contained node "$tmp/minify.js" ${TERSER:+"$TERSER" "$TERSER/dist/bundle.min.js"}
    sleep 2
}

cpu() { # PID: of a process and its children, living or not, by the scheduler and the clock; of its eBPF programs; ns
    local p user
    user=$(for p in "$1" $(pgrep -P "$1"); do cat "/proc/$p/task"/*/schedstat 2>/dev/null || true; done |
        awk '{ n += $1 } END { printf "%.0f", n }')
    user=$(awk -v n="$user" -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); printf "%.0f", n + ($14 + $15) * 1e9 / hz }' "/proc/$1/stat")
    { cat "/proc/$1/fdinfo"/* 2>/dev/null || true; } | awk -v user="$user" '$1 == "prog_id:" { id = $2 } $1 == "run_time_ns:" { t[id] = $2 }
        END { for (i in t) n += t[i]; printf "%.0f %.0f\n", user, n }'
}

# Of a profiler that was started: in `figures`, user and eBPF of the span in percent, then both of the first 20 s.
follow() { # PID SPAN
    local first last
    sleep 20
    first=$(cpu "$1")
    sleep "$2"
    last=$(cpu "$1")
    kill -TERM "$1"
    wait "$1" || true
    pid=''
    read -ra figures <<<"$(echo "$first $last" | awk -v s="$2" \
        '{ printf "%.3f %.3f %.3f", ($3 - $1) / s / 1e7, ($4 - $2) / s / 1e7, ($1 + $2) / 1e9 }')"
}

agent() { # of the container
    "$XPROF" agent --config "$tmp/targets.yaml" --output-dir "$tmp/out" --state-dir "$tmp/state" --cache-dir "$tmp/cache" --listen off --exclusive=off \
        --cri-socket none --kube off --host-processes off --rate 99 --max-cpu 100 >"$tmp/agent" 2>&1 &
    pid=$!
}

otel() {
    port=$((20000 + $$ % 10000))
    "$otel/otlprecv" "127.0.0.1:$port" "$tmp/otlp" &
    receiver=$!
    gcc -O2 -D_GNU_SOURCE -o "$tmp/nomemlock" bench/peers/nomemlock.c
    # shellcheck disable=SC2016
    unshare -m sh -c 'mount -t tracefs x /sys/kernel/tracing; mount -t debugfs x /sys/kernel/debug; exec "$@"' - \
        "$tmp/nomemlock" "$otel/ebpf-profiler" -collection-agent "127.0.0.1:$port" -disable-tls -samples-per-second 99 \
        -reporter-interval 10s >"$tmp/otel" 2>&1 &
    pid=$!
}

verdict() { # NAME OURS UNIT REFERENCE GOAL
    awk -v n="$1" -v a="$2" -v u="$3" -v r="$4" -v g="$5" 'BEGIN {
        printf "%s, %s %s, %s, %s, <= %s %s, %s\n", n, a, u, r == "-" ? "-" : r " " u, r == "-" ? "-" : sprintf("%.2f", a / r),
            g, u, a <= g ? "pass" : "fail" }'
}

make_container
start_load
agent
follow "$pid" 15
cold=${figures[2]}
agent
follow "$pid" "$SPAN"
ours=("${figures[@]}")
theirs=(- - -)
if [ -e "$otel/done" ]; then
    otel
    follow "$pid" "$SPAN"
    theirs=("${figures[@]}")
fi
verdict "busy: agent with parser (% of a core)" "${ours[0]}" % "${theirs[0]}" 0.35
verdict "busy: eBPF (% of a core)" "${ours[1]}" % "${theirs[1]}" 0.4
verdict "busy: first 20 s cold (CPU s)" "$cold" s "${theirs[2]}" 0.4
verdict "busy: first 20 s warm (CPU s)" "${ours[2]}" s "${theirs[2]}" 0.4
