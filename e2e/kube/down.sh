#!/bin/bash
# Ends what up.sh FOLDER started (by PID, then by namespace, then by cgroup), and removes FOLDER and all that is left.
#   down.sh FOLDER      KEEP=1 keeps FOLDER and its logs
set -uo pipefail

folder=$(realpath -m "${1:?folder}")
holder=$(cat "$folder/holder" 2>/dev/null) || exit 0
group=$(cat "$folder/group" 2>/dev/null)
inside() {
    "$folder/in" "$@" 2>/dev/null
}

alive() { # PID: a zombie is not
    local state
    state=$(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null) && [ "${state:0:1}" != Z ]
}

stop() { # NAME SIGNAL
    local pid i
    pid=$(awk -v name="$1" '$1 == name { print $2 }' "$folder/pids")
    [ -n "$pid" ] || return 0
    kill "-$2" "$pid" 2>/dev/null
    for ((i = 0; i < 100; i++)); do
        alive "$pid" || return 0
        sleep 0.02
    done
    kill -KILL "$pid"
}

for name in kubelet kube-scheduler kube-controller-manager kube-apiserver etcd; do stop $name KILL; done
if [ -n "$group" ]; then
    for task in $(inside ctr -n k8s.io tasks ls -q); do inside ctr -n k8s.io tasks rm -f "$task" >/dev/null; done
    for container in $(inside ctr -n k8s.io containers ls -q); do
        inside ctr -n k8s.io containers rm "$container" >/dev/null
    done
    for file in $(inside sh -c "ls /sys/fs/cgroup/unified$group/cgroup.kill /sys/fs/cgroup$group/cgroup.kill"); do
        inside sh -c "echo 1 > $file"
    done
    stop containerd TERM
fi

# Whatever still lives in there (shims), and the holder last.
namespace=$(readlink "/proc/$holder/ns/mnt")
for pid in /proc/[0-9]*; do
    pid=${pid#/proc/}
    if [ "$pid" != "$holder" ] && [ "$(readlink "/proc/$pid/ns/mnt" 2>/dev/null)" = "$namespace" ]; then
        kill -KILL "$pid"
    fi
done
if [ -n "$group" ]; then
    for _ in 1 2 3 4 5; do
        inside sh -c "find /sys/fs/cgroup/*$group /sys/fs/cgroup$group -depth -type d -exec rmdir {} +" && break
        sleep 0.2
    done
fi
if [ -e "$folder/subtree" ]; then # as it was found
    for controller in $(inside cat /sys/fs/cgroup/cgroup.subtree_control); do
        grep -qw "$controller" "$folder/subtree" ||
            inside sh -c "echo -$controller > /sys/fs/cgroup/cgroup.subtree_control"
    done
fi
kill -KILL "$holder"
tac "$folder/made" 2>/dev/null | xargs -r rmdir 2>/dev/null
if [ -n "${KEEP:-}" ]; then
    rm -f "$folder/holder" "$folder/pids"
    exit 0
fi
for _ in 1 2 3 4 5; do
    rm -rf "$folder" 2>/dev/null && exit 0
    sleep 0.2
done
echo "down.sh: $folder cannot be removed" >&2
exit 1
