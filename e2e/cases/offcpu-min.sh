#!/bin/bash
# A pod says from which time on its waits have stacks: of two that do the same, one has stacks, and so little of the other
# that it is what is taken to learn how long its waits are. Their times are the same. Waits for locks have a time of their own.
set -euo pipefail
. e2e/lib.sh
need_root
. e2e/agent/lib.sh
. e2e/faults/lib.sh
. e2e/probes/agent.sh

start_containerd
INTERVAL=3s start_agent --kube cri --cri-socket "$socket" --offcpu-min 40ms

# Waits for 5 ms again and again: nobody writes.
# shellcheck disable=SC2016
waits='mkfifo /fifo; exec 3<>/fifo; while :; do read -t 0.005 x <&3; done'
run_pod short 1 "$waits" xprof.io/profile=offcpu xprof.io/offcpu-min=1ms
run_pod usual 2 "$waits" xprof.io/profile=offcpu
run_pod wrong 3 "$waits" xprof.io/profile=offcpu xprof.io/offcpu-min=soon
# Two that wait for locks for 10 to 30 ms.
build_target locks -static -pthread e2e/targets/locks_library.c
SHELL_OF='exec /tmp/crate 100000'
pod_of locks-short 4 locks xprof.io/profile=lock xprof.io/lock-min=1ms
pod_of locks-usual 5 locks xprof.io/profile=lock xprof.io/offcpu-min=40ms
await has_profiles prod/short/main
await has_profiles prod/usual/main
sleep 10

# Of the last profile: ALL WITHOUT, the numbers of waits, and of those without stacks.
waits_of() { # POD
    local last
    last=$(find "$out/prod/$1/main" -name '*.pb.gz' | sort | tail -n 1)
    go tool pprof -raw -symbolize=none "$last" 2>/dev/null | awk '
        /^Samples:/ { on = 1; getline; next }
        /^Locations/ { on = 0; places = 1; next }
        /^Mappings/ { places = 0 }
        on && /^ *[0-9]+ +[0-9]+:/ { n++; count[n] = $1; sub(/^[^:]*: */, ""); at[n] = " " $0 " " }
        places && /\[stack not taken\]/ { id = $1; sub(/:/, "", id); not[id] }
        END { for (i = 1; i <= n; i++) { all += count[i]; for (id in not) if (index(at[i], " " id " ")) without += count[i] }
              print all + 0, without + 0 }'
}
for pod in short usual wrong locks-short locks-usual; do
    read -r all without <<<"$(waits_of $pod)"
    echo "$pod: $all waits, $without without stack"
    [ "$all" -gt 100 ] || fail "$pod: $all waits only"
    if [[ $pod = *short ]]; then
        is "$without" '<=' "0.05 * $all" || fail "$pod: $without of $all waits have no stack"
    else
        is "$without" '>=' "0.5 * $all" || fail "$pod: only $without of $all waits have no stack"
    fi
done
[ "$(metric xprof_annotation_warnings_total)" = 1 ] || fail "nobody warns of an annotation that makes no sense"
grep -F 'not a time such as' "$errors" >/dev/null || fail "the warning does not say what is wrong"
end_agent
