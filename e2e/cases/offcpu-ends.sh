#!/bin/bash
# The pod that was the last to want waits ends: what was counted of it up to then is in its profile, and the programs that
# follow waits are taken off. The next one is followed again.
set -euo pipefail
. e2e/lib.sh
. e2e/pprof.sh
need_root
. e2e/agent/lib.sh
. e2e/faults/lib.sh

start_containerd
INTERVAL=20s start_agent --kube cri --cri-socket "$socket" --events cpu,offcpu
follows() {
    holds_program xp_on_switch "$agent_pid"
}
is_over() {
    ! follows
}
remove_group() { # UID: of the pod, as a kubelet does
    local group
    group=$(group_of_pod "$1")
    for root in /sys/fs/cgroup /sys/fs/cgroup/*; do
        [ ! -d "$root$group" ] || find "$root$group" -depth -type d -exec rmdir {} +
    done
}
slept() { # POD: ns
    local f
    for f in "$out/prod/$1/$1"/off_cpu-*.pb.gz; do [ ! -e "$f" ] || profile_rows "$f"; done | awk -F '\t' '
        NF == 1 { split($0, names, " "); for (i in names) if (names[i] == "off_cpu") at = i; next }
        index($0, "[sleep]") { split($1, v, " "); sum += v[at] }
        END { printf "%.0f\n", sum }'
}
# How long each sleeps at least, in ms: it does nothing else.
declare -A least
for n in 1 2 3; do
    run_sandbox job$n $n xprof.io/profile=offcpu
    await follows
    sleep 0.5 # what is loaded is attached
    run_container "$POD" main $n job$n 'while :; do sleep 0.2; done'
    start=$(date +%s%3N)
    sleep 2
    least[$n]=$(($(date +%s%3N) - start))
    cri rm "$POD"
    remove_group "$(uid_of $n)"
    await is_over
done
end_agent
for n in "${!least[@]}"; do
    ns=$(slept "job$n")
    echo "job$n slept for $ns ns, ${least[$n]} ms at least"
    is "$ns" '>=' "0.95 * ${least[$n]} * 1e6" || fail "a part of that is missing"
done
