#!/bin/bash
# A containerd of one's own, its state and sockets below FOLDER, in a mount namespace of its own.
#   up.sh FOLDER [hybrid|v1|v2] [IMAGE.tar...]       the containerd of PATH, or $CONTAINERD
# Afterwards: FOLDER/host/run/containerd/containerd.sock speaks CRI; FOLDER/pid is its PID; FOLDER/holder is a process
# that keeps its mount namespace (nsenter -m -t); FOLDER/parent is the parent cgroup for pods. Undo it with down.sh.
# Started again on the same FOLDER, after its end, it finds its pods.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dir=$(realpath -m "${1:?a folder}")
mode=${2:-hybrid}
shift $(($# < 2 ? $# : 2))
socket=$dir/host/run/containerd/containerd.sock

mkdir -p "$dir"/{root,cni,opt,host/run/containerd,run} /run/containerd
if [ ! -f "$dir/parent" ]; then
    echo "/xprof-cri-$$" >"$dir/parent"
    cat /sys/fs/cgroup/unified/cgroup.subtree_control >"$dir/subtree" 2>/dev/null || true # runc adds to it in v2
fi
# Without cgroup2 controllers (they are all in version 1 here) runc must not be asked for limits.
runtime=$(command -v runc)
[ "$mode" != v2 ] || runtime=$here/runc-without-limits
cri='[plugins."io.containerd.grpc.v1.cri"'
cat >"$dir/config.toml" <<X
version = 2
root = "$dir/root"
state = "$dir/host/run/containerd"
imports = []
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.aufs"]
[grpc]
  address = "$socket"
[ttrpc]
  address = "$socket.ttrpc"
[plugins."io.containerd.internal.v1.opt"]
  path = "$dir/opt"
$cri]
  sandbox_image = "registry.local/pause:1"
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
  disable_apparmor = true
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  $cri.cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$dir/cni"
  $cri.containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    $cri.containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      $cri.containerd.runtimes.runc.options]
        BinaryName = "$runtime"
X

# /sys/fs/cgroup is one tmpfs for all mount namespaces: unmount there, never remove a directory.
case $mode in
hybrid) prepare=true ;;
v1) prepare='umount /sys/fs/cgroup/unified' ;;
v2) prepare='umount -R /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup' ;;
*) echo "up.sh: no such mode: $mode" >&2 && exit 1 ;;
esac
enter=(unshare -m --propagation private)
if [ -f "$dir/holder" ] && [ -e "/proc/$(cat "$dir/holder")/ns/mnt" ]; then
    enter=(nsenter -m -t "$(cat "$dir/holder")") # the pods of before live there
fi
rm -f "$socket" "$socket.ttrpc"
# shellcheck disable=SC2016
setsid "${enter[@]}" bash -c '
    if [ ! -f "$2/holder" ]; then
        eval "$1" && mount --bind "$2/run" /run/containerd || exit 1
        setsid sleep infinity &
        echo $! >"$2/holder"
    fi
    exec "$3" -c "$2/config.toml"' - "$prepare" "$dir" "${CONTAINERD:-containerd}" \
    >>"$dir/log" 2>&1 </dev/null &
echo $! >"$dir/pid"
for _ in {1..200}; do
    if [ -S "$socket" ] && ctr -a "$socket" version >/dev/null 2>&1; then
        for image; do ctr -a "$socket" -n k8s.io image import "$image" >/dev/null; done
        exit 0
    fi
    sleep 0.05
done
echo "containerd does not answer:" >&2
tail -n 20 "$dir/log" >&2
exit 1
