#!/bin/bash
# What `xprof agent` costs on a full node: 110 pods of 3 containers (real cgroups, real objects at a real API server), 20 of
# them busy; with none, one, all of them asking for profiles, and with everything sampled. CPU is that of the agent, its
# parser and its eBPF programs. Then how soon a container is seen, how soon an annotation is, and what 1,000 starts and ends
# a minute leave behind. MINUTES (1) is how long the last one goes on; each minute stands for itself.
set -euo pipefail
cd "$(dirname "$0")/.."
PODS=${PODS:-110}
BUSY=${BUSY:-20}
SPAN=${SPAN:-20}   # seconds of a measurement
TRIES=${TRIES:-10} # annotations
MINUTES=${MINUTES:-1}
# shellcheck source=bench/lib/agent.sh
. bench/lib/agent.sh agent
e2e/kube/build.sh --find >/dev/null 2>&1 || skip_bench "the cluster's programs are not built (e2e/kube/build.sh)"
. e2e/faults/node.sh
. e2e/faults/sum.sh
stats=/proc/sys/kernel/bpf_stats_enabled
old=$(cat $stats)
at_exit "echo $old >$stats"
echo 1 >$stats

OUT=short build_target layout >&2
start_node >&2
node make web "$PODS" 3
node busy web "$BUSY" "sh -c 'while :; do $TMP/short 15; sleep 0.2; done'"

cpu_ns() { # of the agent and its parser, by the scheduler; of its eBPF programs, by the kernel
    local p ticks bpf
    ticks=$(for p in $agent_pid $(pgrep -P "$agent_pid"); do cat "/proc/$p/task"/*/schedstat; done | awk '{ n += $1 } END { printf "%.0f", n }')
    bpf=$(cat "/proc/$agent_pid/fdinfo"/* 2>/dev/null | awk '$1 == "prog_id:" { id = $2 } $1 == "run_time_ns:" { t[id] = $2 }
        END { for (i in t) n += t[i]; printf "%.0f", n }')
    echo "$ticks $bpf"
}
memory() { # PSS and RSS of both, KiB
    local p
    for p in $agent_pid $(pgrep -P "$agent_pid"); do cat "/proc/$p/smaps_rollup"; done |
        awk '/^Pss:/ { p += $2 } /^Rss:/ { r += $2 } END { print p, r }'
}
# CPU of a span, in percent of a core: sets user, kernel, total; pss, rss in MB.
measure() {
    local a b
    sleep 5 # what is new is learned
    a=$(cpu_ns)
    sleep "$SPAN"
    b=$(cpu_ns)
    read -r user kernel total <<<"$(echo "$a $b" | awk -v s="$SPAN" '{ u = ($3 - $1) / s / 1e7; k = ($4 - $2) / s / 1e7; printf "%.3f %.3f %.3f", u, k, u + k }')"
    read -r pss rss <<<"$(memory | awk '{ printf "%.1f %.1f", $1 / 1024, $2 / 1024 }')"
}
verdict() { # NAME OURS UNIT REFERENCE GOAL
    awk -v n="$1" -v a="$2" -v u="$3" -v r="$4" -v g="$5" 'BEGIN {
        printf "%s, %s %s, %s %s, %s, %s, %s\n", n, a, u, r, r == "-" ? "" : u, r == "-" || !r ? "-" : sprintf("%.2f", a / r),
            g == "-" ? "-" : "<= " g " " u, g == "-" ? "-" : a <= g ? "pass" : "fail" }'
}
start_measured() { # OPTION...
    INTERVAL=10s start_node_agent --rate 99 --max-cpu 100 "$@"
    soon curl -sf "$page/readyz" >&2
}
kill_agent() {
    kill -TERM "$agent_pid"
    wait "$agent_pid" || true
}

start_measured --targeting all
measure
everything=$total
echo "all without filter: $user % + $kernel % eBPF, $pss MB PSS, $rss MB RSS" >&2
kill_agent

# The reference of an agent whom nobody asks: the same sampler, told to sample a cgroup in which nobody is.
empty=/sys/fs/cgroup/unified/xprof-bench-$$
[ -d /sys/fs/cgroup/unified ] || empty=/sys/fs/cgroup/xprof-bench-$$
mkdir "$empty"
at_exit "rmdir $empty"
"$XPROF" record --no-cache -F 99 --cgroup "$empty" -o "$TMP/empty.collapsed" 2>/dev/null &
agent_pid=$!
measure
sampler=$total
echo "empty sampler: $user % + $kernel % eBPF" >&2
kill_agent
start_measured
sleep 45 # names are asked for, and processes looked for, at first
for who in 0:none 1:one "$PODS:all"; do
    [ "${who%:*}" = 0 ] || node note web "${who%:*}" xprof.io/profile=true
    measure
    echo "${who#*:}: $user % + $kernel % eBPF" >&2
    if [ "${who#*:}" = none ]; then
        above=$(awk -v a="$total" -v b="$sampler" 'BEGIN { printf "%.3f", a - b }')
        verdict "agent CPU above an empty sampler; none of $PODS pods asks (% of a core)" "$above" % "$sampler" 0.1
    fi
    verdict "agent CPU; ${who#*:} of $PODS pods asks (% of a core)" "$total" % "$everything" -
    verdict "agent memory; ${who#*:} asks (MB PSS)" "$pss" MB "$rss" 30
done

# An annotation, and how long until a profile of it is in the folder.
node note web "$PODS" xprof.io/profile-
sleep 3
now_ms() {
    date +%s%3N
}
for i in $(seq 0 $((TRIES - 1))); do
    rm -rf "$out/default"
    begun=$(now_ms)
    node note web $((i + 1)) xprof.io/profile=true 2>/dev/null # those before have it already
    until has_profiles "default/web-$i/c0"; do sleep 0.05; done
    echo "$(($(now_ms) - begun))"
done >"$TMP/late" # no pipe: node() needs this shell
sort -n -o "$TMP/late" "$TMP/late"
verdict "annotation to profile; slowest of $TRIES, and median (interval 10 s)" "$(tail -n 1 "$TMP/late")" ms \
    "$(sed -n $(((TRIES + 1) / 2))p "$TMP/late")" 13000

# 1,000 starts and ends a minute.
node note web "$PODS" xprof.io/profile- 2>/dev/null
for ((minute = 1; minute <= MINUTES; minute++)); do
    before=$(memory | cut -d' ' -f1)
    a=$(cpu_ns)
    begun=$SECONDS
    node churn "m$minute" 1000 60 "$TMP/short" 10
    b=$(cpu_ns)
    cpu=$(echo "$a $b" | awk -v s=$((SECONDS - begun)) '{ printf "%.2f", ($3 - $1 + $4 - $2) / s / 1e7 }')
    grown=$(awk -v a="$before" -v b="$(memory | cut -d' ' -f1)" 'BEGIN { printf "%.1f", (b - a) / 1024 }')
    verdict "1000 starts a minute: CPU (% of a core)" "$cpu" % - -
    verdict "1000 starts a minute: memory grown (MB PSS)" "$grown" MB "$(awk -v a="$before" 'BEGIN { printf "%.1f", a / 1024 }')" -
done
settled() {
    [ "$(metric xprof_profile_samples_unnamed_total)" = 0 ] && settled_samples
}
soon settled >&2
kill_agent
end_node
