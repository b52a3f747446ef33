#!/bin/bash
# Kills one program of the cluster (kube-apiserver, containerd, kubelet, etcd) and starts it again.
#   restart.sh FOLDER NAME            both
#   restart.sh FOLDER NAME kill       only the first; restart.sh FOLDER NAME start makes up for it
set -euo pipefail

folder=$(realpath -m "${1:?folder}")
name=${2:?program}
what=${3:-both}

# Gone, or a zombie without any thread left: only then its sockets are closed.
dead() { # PID
    [ ! -e "/proc/$1" ] || { grep -q '^State:.Z' "/proc/$1/status" && [ "$(find "/proc/$1/task" -mindepth 1 -maxdepth 1 | wc -l)" = 1 ]; } 2>/dev/null
}

if [ "$what" != start ]; then
    pid=$(awk -v name="$name" '$1 == name { print $2 }' "$folder/pids")
    kill -KILL "$pid"
    until dead "$pid"; do sleep 0.05; done
fi
if [ "$what" != kill ]; then
    for ((i = 0; i < 30; i++)); do # its port may still be taken for a moment
        setsid bash -c "exec $(cat "$folder/command-$name")" >>"$folder/log/$name" 2>&1 </dev/null &
        pid=$!
        sleep 1
        if ! dead $pid; then break; fi
    done
    sed -i "s/^$name .*/$name $pid/" "$folder/pids"
fi
