#!/bin/bash
# Ends what up.sh began: the pods, their shims, containerd, the cgroups.   down.sh FOLDER
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dir=$(realpath -m "${1:?a folder}")
parent=$(cat "$dir/parent" 2>/dev/null) || exit 0
socket=$dir/host/run/containerd/containerd.sock

timeout 20 /usr/bin/python3 "$here/pod.py" "$socket" clear >/dev/null 2>&1
cat "$dir/pid" "$dir/holder" 2>/dev/null | while read -r pid; do kill "$pid" 2>/dev/null; done
find /sys/fs/cgroup -path "*$parent/*" -name cgroup.procs -exec cat {} + 2>/dev/null | sort -u | while read -r pid; do
    [ "$pid" = 0 ] || kill -9 "$pid" 2>/dev/null
done
for pid in $(pgrep -f "^[^ ]*containerd-shim[^ ]* .*$dir/"); do kill "$pid" 2>/dev/null; done
groups=(/sys/fs/cgroup -depth -type d '(' -path "*$parent" -o -path "*$parent/*" ')')
for _ in {1..40}; do
    find "${groups[@]}" -exec rmdir {} + 2>/dev/null
    [ -n "$(find "${groups[@]}" -print -quit 2>/dev/null)" ] || break
    sleep 0.1
done
if [ -f "$dir/subtree" ] && ! [ -s "$dir/subtree" ]; then # nothing was delegated before
    tr ' ' '\n' </sys/fs/cgroup/unified/cgroup.subtree_control | while read -r controller; do
        echo "-$controller" >/sys/fs/cgroup/unified/cgroup.subtree_control
    done 2>/dev/null
fi
rm -rf "$dir"
