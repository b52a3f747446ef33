#!/bin/bash
# What an hour's worth of containers leaves behind: 60,000 pods of one container are made and removed as fast as it goes, while
# the agent is to profile all of them. Memory, and the rows that the kernel side has for them, are measured after each third,
# when it is forgotten: the second may still need room that the first did not, the third must not. Then some with a process
# each, at the rate of a thousand a minute: CPU.
set -euo pipefail
cd "$(dirname "$0")/.."
COUNT=${COUNT:-60000}
SPAN=${SPAN:-60} # seconds of the second part
# shellcheck source=bench/lib/agent.sh
. bench/lib/agent.sh churn
bpftool=$(command -v bpftool || echo /usr/sbin/bpftool)
[ -x "$bpftool" ] || skip_bench "there is no bpftool"
gcc -O2 -o "$TMP/groups" bench/targets/groups.c
tree=/sys/fs/cgroup/unified
[ -d $tree ] || tree=/sys/fs/cgroup
folder=$tree/xprof-churn-$$
at_exit "find $folder -depth -type d -exec rmdir {} +"

memory() { # anonymous, of the agent and its parser, KiB: what others share with them comes and goes with the others
    local p
    for p in $agent_pid $(pgrep -P "$agent_pid"); do cat "/proc/$p/smaps_rollup"; done | awk '/^Anonymous:/ { n += $2 } END { print n }'
}
rows() { # of what the kernel side knows of cgroups
    awk '$1 == "map_id:" { print $2 }' "/proc/$agent_pid/fdinfo"/* 2>/dev/null | sort -u | while read -r id; do
        case $("$bpftool" map show id "$id" 2>/dev/null) in
        *" wants "* | *" decisions "*) "$bpftool" map dump id "$id" ;;
        esac
    done | grep -c '"key"' || true
}
verdict() { # NAME OURS UNIT REFERENCE GOAL|-
    awk -v n="$1" -v a="$2" -v u="$3" -v r="$4" -v g="$5" 'BEGIN {
        goal = "-"; verdict = "-"
        if (g != "-") { goal = "<= " g " " u; verdict = a + 0 <= g + 0 ? "pass" : "fail" }
        printf "%s, %s %s, %s %s, -, %s, %s\n", n, a, u, r, u, goal, verdict }'
}
forgotten() { # what ended is remembered for a minute and six intervals, and who is busy forgets later
    sleep 85
}

start_agent --targeting all --host-processes off --rate 99 --max-cpu 100
sleep 3
had=$(rows)
for _ in 1 2 3; do
    before=${after:-0}
    "$TMP/groups" "$folder" $((COUNT / 3)) 0 >"$TMP/took"
    forgotten
    after=$(memory)
    echo "$((COUNT / 3)) pods in $(cat "$TMP/took") s: $((after / 1024)) MB, $(rows) rows; in all" \
        "$(metric xprof_cgroups_left_out_total) groups left out, $(metric xprof_discovery_dropped_total) messages dropped" >&2
done
grown=$(awk -v a="$before" -v b="$after" 'BEGIN { printf "%.1f", (b - a) / 1024 }')
verdict "memory after $COUNT pods (MB grown in the last third; reference: before)" "$grown" MB "$(awk -v a="$before" 'BEGIN { printf "%.1f", a / 1024 }')" 1
verdict "rows of the kernel side after $COUNT pods (reference: before)" "$(rows)" rows "$had" "$had"

cpu_ns() {
    for p in $agent_pid $(pgrep -P "$agent_pid"); do cat "/proc/$p/task"/*/schedstat; done | awk '{ n += $1 } END { printf "%.0f", n }'
}
stages() {
    curl -sf "$page/metrics" | sed -n 's/^xprof_cpu_seconds_total//p' | xargs >&2
}
stages
a=$(cpu_ns)
"$TMP/groups" "$folder" $((SPAN * 1000 / 60)) 10000 17 >"$TMP/third"
verdict "a thousand starts a minute: CPU (% of a core)" \
    "$(awk -v a="$a" -v b="$(cpu_ns)" -v s="$(cat "$TMP/third")" 'BEGIN { printf "%.2f", (b - a) / s / 1e7 }')" % - -
stages
end_agent
