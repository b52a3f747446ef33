#!/bin/bash
# Kills one program of the cluster (kube-apiserver, containerd, kubelet, etcd) and starts it again.
#   restart.sh FOLDER NAME            both
#   restart.sh FOLDER NAME kill       only the first; restart.sh FOLDER NAME start makes up for it
set -euo pipefail

folder=$(realpath -m "${1:?folder}")
name=${2:?program}
what=${3:-both}

if [ "$what" != start ]; then
    kill -KILL "$(awk -v name="$name" '$1 == name { print $2 }' "$folder/pids")"
fi
if [ "$what" != kill ]; then
    setsid bash -c "exec $(cat "$folder/command-$name")" >>"$folder/log/$name" 2>&1 </dev/null &
    sed -i "s/^$name .*/$name $!/" "$folder/pids"
fi
