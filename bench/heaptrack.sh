#!/bin/bash
# Exact allocations of five real programs beside those that heaptrack counts: blocks, bytes, and the ten call paths with
# the most bytes, in order. And how long each program takes: alone, sampled, exact, under heaptrack, and under bcc's
# memleak. `make bench-peers` runs it. PROGRAMS selects some. Needs the package heaptrack; for times of memleak, too,
# bpfcc-tools and headers of a kernel: BCC_KERNEL_SOURCE, those of Debian's linux-headers-*-common and -amd64 in one
# folder, will do for any kernel.
set -euo pipefail
cd "$(dirname "$0")/.."
PROGRAMS=${PROGRAMS:-cc1 sqlite python ffmpeg jq}
PRELOAD=${PRELOAD:-/usr/lib/heaptrack/libheaptrack_preload.so}
# shellcheck source=bench/lib/agent.sh
. bench/lib/agent.sh heaptrack
kernel=$(uname -r)
printf '6.6\n%s\n' "${kernel%%-*}" | sort -VC || skip_bench "uprobe_multi links are of Linux 6.6"
[ -e "$PRELOAD" ] || skip_bench "there is no $PRELOAD: install heaptrack"
memleak=$(command -v memleak-bpfcc || command -v memleak || true)

command_of() { # NAME: sets $command; nothing that it does depends on time or on chance
    case $1 in
    cc1)
        gcc -E -D_GNU_SOURCE -Iagent -I. -o "$TMP/big.i" agent/profile/pprof.c
        command=("$(gcc -print-prog-name=cc1)" -quiet -O2 -fpreprocessed "$TMP/big.i" -o /dev/null)
        ;;
    sqlite)
        command=(/usr/bin/sqlite3 :memory: "create table t(a, b, c); create index i on t(b);
            with recursive n(x) as (select 1 union all select x + 1 from n where x < 60000)
                insert into t select x, hex(x * 7919 % 10007), printf('%032d', x) from n;
            update t set c = upper(b) || c where a % 3 = 0; delete from t where a % 7 = 0;
            select count(*), max(s) from (select b, sum(length(c)) as s from t group by b order by s);")
        ;;
    python)
        command=(/usr/bin/python3 -S -c '
import json
for i in range(1):
    json.loads(json.dumps([{"a": list(range(2000)), "b": "x" * j} for j in range(40)]))')
        ;;
    ffmpeg)
        command=("$(command -v ffmpeg)" -v error -threads 1 -filter_threads 1 -f lavfi -i testsrc=duration=8:size=640x360:rate=25
            -c:v mpeg4 -threads 1 -f null -)
        ;;
    jq)
        [ -e "$TMP/big.json" ] || jq -n '[range(12000) | {id: ., name: "n\(.)", tags: ["a", "b", "\(. % 97)"]}]' >"$TMP/big.json"
        command=(/usr/bin/jq -c 'group_by(.tags[2]) | map({k: .[0].tags[2], n: length}) | sort_by(.n)' "$TMP/big.json")
        ;;
    esac
    [ -x "${command[0]}" ] || command=()
}

# --- Each way writes how long the program took, in seconds, into $TMP/WAY. --------------------------------------------

# Its own time: what attaches to it has done so when it begins, or has stopped it meanwhile.
export PYTHONHASHSEED=0 PYTHONMALLOC=malloc # of each object, not of arenas
timed=(/usr/bin/time -f %e -o)
alone() {
    "${timed[@]}" "$TMP/alone" "${command[@]}"
}
recorded() { # WAY OPTION...
    local way=$1
    shift
    "$XPROF" record -e memory --raw "$@" -o "$TMP/$way.pb.gz" --summary "$TMP/$way.json" -- \
        "${timed[@]}" "$TMP/$way" "${command[@]}" 2>"$TMP/$way.err"
}
heaptracked() {
    rm -f "$TMP/heaptrack.raw"
    "${timed[@]}" "$TMP/heaptrack" env DUMP_HEAPTRACK_OUTPUT="$TMP/heaptrack.raw" LD_PRELOAD="$PRELOAD" "${command[@]}"
}
memleaked() {
    local pid tracer began
    # shellcheck disable=SC2016 # of the inner shell
    bash -c 'kill -STOP $$; exec "$@"' - "${command[@]}" &
    pid=$!
    /usr/bin/python3 -u bench/lib/memleak.py "$memleak" -p $pid --older 1000000 3600 >"$TMP/memleak.out" 2>&1 &
    tracer=$!
    at_exit "kill -KILL $tracer $pid"
    for ((i = 0; i < 300; i++)); do # all its probes are there once it sleeps
        grep -q "^Attaching to" "$TMP/memleak.out" && grep -q nanosleep "/proc/$tracer/wchan" && break
        kill -0 $tracer 2>/dev/null || break
        sleep 0.1
    done
    if ! kill -0 $tracer 2>/dev/null; then
        grep -v '^ ' "$TMP/memleak.out" | tail -n 3 >&2
        memleak=
        kill -KILL $pid
        return
    fi
    began=$EPOCHREALTIME
    kill -CONT $pid
    wait $pid || true
    awk -v from="$began" -v to="$EPOCHREALTIME" 'BEGIN { print to - from }' >"$TMP/memleak"
    kill -KILL $tracer 2>/dev/null || true
    wait $tracer 2>/dev/null || true
}

# What both have seen.
compare() { # NAME
    local text=$TMP/exact.txt
    GOTOOLCHAIN=local go tool pprof -symbolize=none -raw "$TMP/exact.pb.gz" >"$text" 2>/dev/null
    # shellcheck disable=SC2086 # options
    /usr/bin/python3 bench/lib/heaptrack.py "$TMP/heaptrack.raw" "$text" "${command[0]}" ${VERBOSE:+-v} | awk -v name="$1" '
        function line(what, ours, its) {
            ratio = its ? ours / its : 0
            printf "heaptrack %s %s, %d, %d, %.4f, 0.98-1.02x, %s\n", name, what, ours, its, ratio,
                (ratio >= 0.98 && ratio <= 1.02 ? "pass" : "fail")
        }
        {
            line("blocks", $1, $2)
            line("bytes", $3, $4)
            printf "heaptrack %s paths, %d of 10, 10, %.1f, the same order, %s\n", name, $5, $5 / 10, ($5 == 10 ? "pass" : "fail")
        }'
}

times() { # NAME
    local way
    for way in sampled heaptrack; do
        printf 'heaptrack %s %s, %s s, %s s alone, %s, -, -\n' "$1" "$way" "$(cat "$TMP/$way")" "$(cat "$TMP/alone")" \
            "$(ratio "$way" alone)"
    done
    if [ -n "$memleak" ]; then
        # Our time includes that of attaching, which memleak has done before: programs with few blocks show that only.
        awk -v name="$1" -v ours="$(cat "$TMP/exact")" -v its="$(cat "$TMP/memleak")" -v blocks="$(jq .samples "$TMP/exact.json")" '
            BEGIN { many = blocks > 100000
                printf "heaptrack %s exact, %.2f s, %.2f s memleak, %.3f, %s, %s\n", name, ours, its, ours / its,
                    many ? "< 1x" : "-", many ? (ours < its ? "pass" : "fail") : "-" }'
    else
        printf 'heaptrack %s exact, %s s, %s s alone, %s, -, -\n' "$1" "$(cat "$TMP/exact")" "$(cat "$TMP/alone")" \
            "$(ratio exact alone)"
    fi
}
ratio() { # WAY WAY
    awk -v a="$(cat "$TMP/$1")" -v b="$(cat "$TMP/$2")" 'BEGIN { printf "%.3f", b ? a / b : 0 }'
}

for name in $PROGRAMS; do
    command_of "$name"
    if [ ${#command[@]} = 0 ]; then
        echo "heaptrack $name, skip: it is not installed"
        continue
    fi
    alone >/dev/null
    recorded sampled >/dev/null
    recorded exact --memory-exact >/dev/null
    heaptracked >/dev/null
    [ -z "$memleak" ] || memleaked >/dev/null
    compare "$name"
    times "$name"
done
