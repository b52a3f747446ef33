#!/bin/bash
# The building blocks from which docs/sizing.md calculates what the agent takes on a large node: its eBPF maps, one by one;
# what a process, a container and a file more cost, by runs with N and 2 N of them; CPU time of a sample, by runs with one
# and two busy processes; and the peak of a start. The agent is in a memory cgroup of its own, which counts what a pod's
# limit counts: its processes, the page cache of its files, and kernel memory (eBPF maps).
#   NAME, N to 2 N: GROWTH, EACH: the rest of a line is for tools/bench.sh
set -euo pipefail
cd "$(dirname "$0")/.."
SPAN=${SPAN:-40} # seconds of a run
# shellcheck source=bench/lib/agent.sh
. bench/lib/agent.sh sizing
bpftool=$(command -v bpftool || echo /usr/sbin/bpftool)
[ -x "$bpftool" ] || skip_bench "there is no bpftool"
INTERVAL=5s
build_target steady
build_target files -DFOREVER
cpus=$(wc -w < <(tr ',-' '  ' </sys/devices/system/cpu/possible | awk '{ for (i = $1; i <= ($2 ? $2 : $1); i++) print i }' | xargs))

# ---- The agent's own cgroup --------------------------------------------------------------------------------------------------

group=/sys/fs/cgroup/memory/xprof-sizing-$$ now=memory.usage_in_bytes peak=memory.max_usage_in_bytes
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
    group=/sys/fs/cgroup/xprof-sizing-$$ now=memory.current peak=memory.peak
fi
if mkdir "$group" 2>/dev/null && [ -e "$group/$now" ]; then at_exit "rmdir $group"; else
    echo "sizing, skip: there is no memory controller"
    exit 0
fi
cat >"$TMP/contained" <<EOF2
#!/bin/sh
echo \$\$ >$group/cgroup.procs
exec $XPROF "\$@"
EOF2
chmod +x "$TMP/contained"
ours=$(printf 'b5%06x' $$) # how the IDs of our containers begin: others of the machine are left alone
printf 'targets:\n  - container-id: %s*\ntargets-only: on\n' "$ours" >"$TMP/targets.yaml"
begin() { # OPTION...
    rm -rf "$TMP/cache" "$state" "$out"
    XPROF=$TMP/contained start_agent --config "$TMP/targets.yaml" --host-processes off --rate 99 --max-cpu 100 "$@"
}
finish() {
    end_agent
    echo 0 >"$group/memory.force_empty" 2>/dev/null || true
    rmdir "$group" && mkdir "$group"
}
agent_processes() {
    echo "$agent_pid"
    pgrep -P "$agent_pid" || true
}
maps_kib() { # of all eBPF maps
    cat "/proc/$agent_pid/fdinfo"/* 2>/dev/null | awk '$1 == "memlock:" { m = $2 } $1 == "map_id:" { of[$2] = m }
        END { for (i in of) n += of[i]; printf "%.0f", n / 1024 }'
}
anonymous_kib() {
    local p
    for p in $(agent_processes); do cat "/proc/$p/smaps_rollup" 2>/dev/null; done | awk '/^Anonymous:/ { n += $2 } END { print n }'
}
cpu_seconds() { # of all threads and children, and of eBPF
    metric xprof_cpu_seconds_total
}
look() { # sets anonymous, maps, charged (KiB), descriptors, samples, cpu
    local p
    anonymous=$(anonymous_kib) maps=$(maps_kib)
    charged=$(($(cat "$group/$now") / 1024))
    descriptors=$(for p in $(agent_processes); do find "/proc/$p/fd" -type l; done 2>/dev/null | wc -l)
    samples=$(metric xprof_samples_total) cpu=$(cpu_seconds)
}

# ---- Loads -------------------------------------------------------------------------------------------------------------------

containers=()
load() { # NAME COMMAND...: in a container
    local id
    id=$ours$(echo -n "$1" | sha256sum | cut -c 1-56)
    shift
    make_container "$id"
    (contained "$@") &
    containers+=("${groups[0]}")
}
unload() {
    local procs p i
    for procs in "${containers[@]}"; do
        for i in {1..100}; do
            while read -r p; do kill -KILL "$p"; done <"$procs"
            [ -n "$(cat "$procs")" ] || break
            sleep 0.1
        done 2>/dev/null
    done
    containers=()
}
processes() { load "processes$1" "$TMP/steady" "$1" $(($1 * 5)); }
containers_of() { # one process each, of which four fifths of a CPU are busy whatever their number is
    local i
    for ((i = 0; i < $1; i++)); do load "of$1-$i" "$TMP/steady" 2 $(($1 * 5)); done
}
files() {
    mkdir -p "$TMP/files-$1"
    load "files$1" "$TMP/files" "$1" "$TMP/files-$1"
    until [ -e "$TMP/files-$1/$(($1 - 1))" ]; do sleep 0.5; done
}

result() { # NAME VALUE UNIT OF
    echo "$1, $2 $3, $4, -, -, -"
}
each() { # KIND N: two runs
    local kind=$1 n=$2 a m c d
    begin
    "$kind" "$n"
    sleep "$SPAN"
    look
    unload
    finish
    a=$anonymous m=$maps c=$charged d=$descriptors
    begin
    "$kind" $((2 * n))
    sleep "$SPAN"
    look
    unload
    finish
    result "one of $n more ${kind%_of}: agent's memory (KiB)" "$(awk -v a="$a" -v b="$anonymous" -v n="$n" 'BEGIN { printf "%.2f", (b - a) / n }')" KiB "$a to $anonymous"
    result "one of $n more ${kind%_of}: charged to the pod (KiB)" "$(awk -v a="$c" -v b="$charged" -v n="$n" 'BEGIN { printf "%.2f", (b - a) / n }')" KiB "$c to $charged"
    result "one of $n more ${kind%_of}: eBPF maps (KiB)" "$(awk -v a="$m" -v b="$maps" -v n="$n" 'BEGIN { printf "%.2f", (b - a) / n }')" KiB "$m to $maps"
    result "one of $n more ${kind%_of}: descriptors" "$(awk -v a="$d" -v b="$descriptors" -v n="$n" 'BEGIN { printf "%.2f", (b - a) / n }')" "" "$d to $descriptors"
}

begin
sleep 3
look
cat "/proc/$agent_pid/fdinfo"/* 2>/dev/null | awk '$1 == "map_id:" { print $2 }' | sort -un | while read -r id; do
    "$bpftool" -j map show id "$id" | jq -r '[.name, .type, .max_entries, .bytes_value, .bytes_memlock] | @tsv'
done | awk '{ printf "  %-16s %-14s %6d x %7d bytes, %.0f KiB\n", $1, $2, $3, $4, $5 / 1024 }' >&2
result "eBPF maps on $cpus CPUs without tables (KiB)" "$maps" KiB "-"
result "idle agent, anonymous (KiB)" "$anonymous" KiB "-"
result "idle agent, charged to the pod; at its peak (KiB)" "$charged" KiB "$(($(cat "$group/$peak") / 1024)) KiB"
finish

# A sample costs the same whether a minute has few or many: the rest is what goes on without samples.
begin
load one "$TMP/steady" 1 1
sleep "$SPAN"
look
unload
finish
few_samples=$samples few_cpu=$cpu
begin --rate 997 --max-rate 997
load two "$TMP/steady" 1 1
sleep "$SPAN"
look
unload
finish
result "CPU of a sample (us)" "$(awk -v a="$few_cpu" -v b="$cpu" -v m="$few_samples" -v n="$samples" 'BEGIN { printf "%.1f", (b - a) / (n - m) * 1e6 }')" us "$few_samples to $samples samples"

each processes 500
each containers_of 50
each files 1000
