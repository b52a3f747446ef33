# shellcheck shell=bash disable=SC2034,SC2154
# An agent that knows pods by their runtime alone, a containerd of its own, and pods of a shell in it. To be sourced after
# e2e/lib.sh and e2e/agent/lib.sh.

need containerd runc ctr busybox gcc go
/usr/bin/python3 -c 'import grpc' 2>/dev/null || skip "there is no python3-grpcio"
ctd=$TMP/ctd
socket=$ctd/host/run/containerd/containerd.sock
forever='while :; do :; done'

start_containerd() {
    bash e2e/cri/images.sh "$TMP/images"
    at_exit "bash e2e/cri/down.sh $ctd"
    bash e2e/cri/up.sh "$ctd" hybrid "$TMP/images/pause.tar" "$TMP/images/busybox.tar" || skip "containerd does not start here"
}

cri() { # VERB ARGUMENT...
    /usr/bin/python3 e2e/cri/pod.py "$socket" "$@"
}

uid_of() { # NUMBER
    printf '%08d-2222-3333-4444-555555555555' "$1"
}
group_of_pod() { # UID
    echo "$(cat "$ctd/parent")/kubepods/burstable/pod$1"
}

# A pod in the namespace prod whose container "main" runs a shell; sets POD and CID.
run_pod() { # NAME NUMBER SCRIPT [ANNOTATION...]
    local name=$1 uid made script=$3
    uid=$(uid_of "$2")
    shift 3
    made=$(cri run "$name" prod "$uid" "$(group_of_pod "$uid")" "$@" -- /bin/sh -c "$script")
    eval "$made"
}

# A pod that the agent knows before its first container starts, as a kubelet's pod is known by the API server.
run_sandbox() { # NAME NUMBER [ANNOTATION...]: sets POD
    local name=$1 uid made
    uid=$(uid_of "$2")
    shift 2
    made=$(cri sandbox "$name" prod "$uid" "$(group_of_pod "$uid")" "$@")
    eval "$made"
    await wants_pod "$uid"
}
wants_pod() { # UID
    curl -sf "$page/targets" | jq -e --arg u "$1" 'any(.[]; .kind == "pod" and .pod_uid == $u and .profiled)'
}
run_container() { # POD NAME NUMBER CONTAINER SCRIPT: sets CID
    local uid made
    uid=$(uid_of "$3")
    made=$(cri add "$1" "$4" "$2" prod "$uid" "$(group_of_pod "$uid")" -- /bin/sh -c "$5")
    eval "$made"
}

# A loop that takes about so many times 10 us of CPU, and ends.
script_of() { # ROUNDS
    # shellcheck disable=SC2016
    printf 'i=0; while [ $i -lt %d ]; do i=$((i+1)); done' "$1"
}

samples_in() { # FOLDER: in all its profiles
    find "$out/$1" -name '*.pb.gz' 2>/dev/null | while read -r f; do
        go tool pprof -raw -symbolize=none "$f" 2>/dev/null
    done | awk '/^Samples:/ { on = 1; getline; next } /^Locations/ { on = 0 }
        on && /^ *[0-9]+ +[0-9]+:/ { n += $1 } END { print n + 0 }'
}
