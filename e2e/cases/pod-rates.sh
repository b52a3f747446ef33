#!/bin/bash
# A pod says at which rate single events are sampled: of one whose annotation gives `cpu` a tenth of the rate, one sample
# of ten is kept and counts as ten, so that its CPU time is right, and page faults are sampled as those of others are.
set -euo pipefail
. e2e/lib.sh
. e2e/pprof.sh
need_root
. e2e/agent/lib.sh
. e2e/faults/lib.sh

start_containerd
INTERVAL=3s start_agent --kube cri --cri-socket "$socket" --events cpu,page-faults --rate 200 --max-rate 400
run_pod own 1 'while :; do (:); done' xprof.io/profile=true xprof.io/rate=cpu=20
run_pod usual 2 'while :; do (:); done' xprof.io/profile=true
run_pod wrong 3 'while :; do (:); done' xprof.io/profile=true xprof.io/rate=offcpu=20
for pod in own usual wrong; do await has_profiles prod/$pod/main; done
sleep 7

# The sums of a kind in all profiles of a pod, and how many of the stacks with it have a sum that is no multiple of ten
# samples: SUM STACKS OTHERS.
sums_of() { # POD TYPE UNIT
    find "$out/prod/$1/main" -name "$2-*.pb.gz" | sort | tail -n 2 | while read -r f; do
        profile_rows "$f"
    done | awk -F '\t' -v type="$2" -v unit="$3" '
        NF == 1 { split($0, names, " "); for (i in names) if (names[i] == type) at = i; next }
        { split($1, v, " ") }
        v[at] > 0 { sum += v[at]; stacks++; others += int(v[at] / unit + 0.5) % 10 != 0 }
        END { print sum + 0, stacks + 0, others + 0 }'
}
for pod in own usual wrong; do
    read -r cpu stacks others <<<"$(sums_of $pod cpu 5000000)"
    read -r faults fault_stacks fault_others <<<"$(sums_of $pod page_faults 1)"
    echo "$pod: $cpu ns in $stacks stacks, $others of them no multiple; $faults page faults, $fault_stacks, $fault_others"
    [[ $stacks -gt 0 && $fault_stacks -gt 20 ]] || fail "$pod has too few samples"
    is "$fault_others" '>' 0 || fail "$pod: one of ten page faults was sampled"
    if [ $pod = own ]; then
        [ "$others" = 0 ] || fail "$pod: $others of $stacks stacks are of more samples than one of ten"
    else
        is "$others" '>' "0.5 * $stacks" || fail "$pod: one of ten samples was kept"
    fi
    eval "cpu_of_$pod=$cpu"
done
# All three do the same on as many CPUs: what was kept counts for the rest.
# shellcheck disable=SC2154
is "$cpu_of_own" '>' "0.5 * $cpu_of_usual" || fail "the pod's CPU time is too short"
[ "$(metric xprof_annotation_warnings_total)" = 1 ] || fail "nobody warns of the rate of what has none"
grep -F 'offcpu is counted exactly: it has no rate' "$errors" >/dev/null || fail "the warning does not say what is wrong"
end_agent
