#!/bin/bash
# The container runtime hangs, is killed, is not there: who is known stays profiled, who comes is known when it answers.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
. e2e/agent/lib.sh
. e2e/faults/lib.sh
. e2e/faults/sum.sh

start_containerd
start_agent --kube cri --cri-socket "$socket" --rate 199
run_pod first 1 "$forever" xprof.io/profile=true
soon has_profiles prod/first/main
[ "$(metric xprof_runtime_calls_total '"ok"')" -ge 1 ] || fail "the runtime has not answered"
grows() { # FROM
    [ "$(metric xprof_samples_total)" -gt $(($1 + 100)) ]
}
failed() { # OUTCOME
    [ "$(metric xprof_runtime_calls_total "$1")" -ge 1 ]
}
# A container that only its cgroup tells of makes the agent ask.
stranger() { # NUMBER
    local uid tree
    uid=$(uid_of "$1")
    for tree in unified pids; do
        [ -d /sys/fs/cgroup/$tree ] || continue
        group=/sys/fs/cgroup/$tree/xprof-fault-$$
        mkdir -p "$group/kubepods/pod$uid"
        at_exit "rmdir $group/kubepods/pod$uid $group/kubepods $group"
    done
}

kill -STOP "$(cat "$ctd/pid")"
at_exit "kill -CONT \$(cat $ctd/pid)"
stranger 90
soon failed timeout
before=$(metric xprof_samples_total)
soon grows "$before"
kill -CONT "$(cat "$ctd/pid")"
run_pod second 2 "$forever" xprof.io/profile=true
soon has_profiles prod/second/main
cri rm "$POD"

kill -KILL "$(cat "$ctd/pid")"
stranger 91
soon failed unreachable
before=$(metric xprof_samples_total)
soon grows "$before"
bash e2e/cri/up.sh "$ctd" hybrid
run_pod third 3 "$forever" xprof.io/profile=true
soon has_profiles prod/third/main
[ "$(metric xprof_profile_samples_unnamed_total)" = 0 ] || fail "samples without a name"
echo "runtime hung, killed: no sample of who is known is lost; timeouts: $(metric xprof_runtime_calls_total timeout)," \
    "unreachable: $(metric xprof_runtime_calls_total unreachable)"
end_agent
