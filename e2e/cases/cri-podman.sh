#!/bin/bash
# Containers without a CRI: podman's are named by its files, its conmon is none of them.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need podman runc busybox gcc python3
. e2e/cri/lib.sh

storage=$TMP/host/var/lib/containers/storage
mkdir -p "$storage"
printf '[engine]\nevents_logger = "file"\n' >"$TMP/containers.conf"
export CONTAINERS_CONF=$TMP/containers.conf
podman=(podman --root "$storage" --runroot "$TMP/run" --tmpdir "$TMP/tmp" --storage-driver overlay
    --cgroup-manager cgroupfs --runtime runc)
# Empty again, the parent that podman makes in every hierarchy goes.
at_exit 'find /sys/fs/cgroup -depth -type d -path "*/libpod_parent*" -exec rmdir {} +'
at_exit "umount $storage/overlay"

bash e2e/cri/images.sh "$TMP/images"
"${podman[@]}" load -q -i "$TMP/images/busybox.tar" >/dev/null
at_exit "${podman[*]} rm -f -t 0 sleeper"
id=$("${podman[@]}" run -d --name sleeper --network host --ulimit nofile=1024:1024 --ulimit nproc=1024:1024 \
    registry.local/busybox:1 /bin/sh -c 'while :; do sleep 1; done') || skip "podman cannot run a container here"

registry --host-root "$TMP/host" --socket none
expect_says ps "^container .*id=$id uid= .*runtime=podman state=known told=file sandbox=0 name=sleeper pod= namespace= image=registry.local/busybox:1"
expect_says ps "^container .*id=$id .*init=[1-9].* pidns=1 busybox=1"
[ "$(grep -c "id=$id" "$TMP/said")" = 1 ] || fail "it is listed more than once"
"${podman[@]}" rm -f -t 0 sleeper >/dev/null
expect_says ps "^container .*id=$id .*state=ended .*name=sleeper"
registry_ends
