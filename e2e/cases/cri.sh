#!/bin/bash
# The registry of containers against a real containerd: names, pods, pause, annotations in every cgroup mode; a runtime
# that is gone, hangs, comes back.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need containerd runc ctr busybox gcc nsenter unshare
/usr/bin/python3 -c 'import grpc' 2>/dev/null || skip "there is no python3-grpcio"
. e2e/cri/lib.sh

uid=11111111-2222-3333-4444-555555555555

pod() { # NAME UID [ANNOTATION...]: sets POD and CID
    local name=$1 uid=$2 made
    shift 2
    made=$(/usr/bin/python3 e2e/cri/pod.py "$socket" run "$name" prod "$uid" "${parent:-$(cat "$ctd/parent")/kubepods/burstable/pod$uid}" \
        "$@" -- /bin/sh -c 'while :; do sleep 1; done')
    eval "$made"
}

up() { # FOLDER MODE
    ctd=$1
    socket=$ctd/host/run/containerd/containerd.sock
    at_exit "bash e2e/cri/down.sh $ctd"
    bash e2e/cri/up.sh "$ctd" "$2" "$TMP/images/pause.tar" "$TMP/images/busybox.tar" || skip "containerd does not start here"
}

names() { # what must be known of the pod that stands
    expect_says ps "^container .*id=$CID uid=$uid .*runtime=containerd state=known told=runtime sandbox=0 name=main pod=web namespace=prod image=registry.local/busybox:1 profile=cpu,offcpu init=[1-9]"
    expect_says ps "^container .*id=$CID .*pidns=1 busybox=1"
    expect_says ps "^container .*id=$POD uid=$uid .*state=known .*sandbox=1 name= pod=web namespace=prod"
    expect_says ps "^pod .*id= uid=$uid .*state=known .*pod=web namespace=prod .*profile=cpu,offcpu"
    expect_says stats 'runtime=containerd [0-9.]+'
}

mode() { # hybrid|v1|v2 WHAT_STATS_SAY
    up "$TMP/ctd-$1" "$1"
    pod web "$uid" xprof.io/profile=cpu,offcpu
    wrap=(nsenter -m -t "$(cat "$ctd/holder")")
    registry --host-root "$ctd/host"
    names
    expect_says stats "$2"
}

bash e2e/cri/images.sh "$TMP/images"

mode v1 'mode=v1 unified=0 controller=(pids|cpu|devices|freezer) number=[1-9].* whole=1'
registry_ends
bash e2e/cri/down.sh "$ctd"

mode v2 'mode=v2 unified=1 controller= number=0 whole=1'
registry_ends
# As in a pod of a machine with version 2: the tree above is out of sight, processes tell.
group=/sys/fs/cgroup/unified/xprof-cri-ns-$$
mkdir "$group"
at_exit "for try in {1..30}; do rmdir $group && break || sleep 0.1; done"
# shellcheck disable=SC2016
wrap+=(bash -c 'echo $$ >/sys/fs/cgroup/'"$(basename "$group")"'/cgroup.procs && exec unshare -C -m bash -c "umount /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup && exec \"\$@\"" - "$@"' -)
registry --host-root "$ctd/host" --cgroup-root /sys/fs/cgroup
expect_says ps "^container .*id=$CID uid=$uid .*name=main pod=web namespace=prod .*profile=cpu,offcpu init=[1-9].* busybox=1"
expect_says stats 'mode=v2 .* whole=0'
registry_ends
# A container between two scans is learned from the first sample of it.
rescan=100000
registry --host-root "$ctd/host" --cgroup-root /sys/fs/cgroup
rescan=300
expect_says stats 'rescans=1 '
pod late 33333333-2222-3333-4444-555555555555
tree=$(find /sys/fs/cgroup/unified -type d -name "$CID")
says ps "id=$CID" && fail "it is known before anybody could know"
ask "learn $(stat -c %i "$tree") $(head -n 1 "$tree/cgroup.procs")" >/dev/null
expect_says ps "^container cgroup=$(stat -c %i "$tree") id=$CID .*name=main pod=late"
expect_says stats 'rescans=1 .*found_late=1'
registry_ends
if [ -d /proc/1/root/sys/fs/cgroup ]; then # with the host's mounts in reach, all of it
    registry --host-root "$ctd/host"
    expect_says stats 'whole=1 mount=/proc/1/root'
    expect_says ps "^pod .*uid=$uid .*pod=web"
    registry_ends
fi
bash e2e/cri/down.sh "$ctd"

mode hybrid 'mode=hybrid unified=1 .* whole=1'
web=$CID

# A slice as parent, taken literally by a runc that does not speak with systemd: "SLICE:cri-containerd:ID".
third=44444444-2222-3333-4444-555555555555
parent=kubepods-burstable-pod${third//-/_}.slice pod slice "$third"
expect_says ps "^container .*id=$CID uid=$third .*runtime=containerd .*told=runtime .*name=main pod=slice"
/usr/bin/python3 e2e/cri/pod.py "$socket" rm "$POD"
expect_says ps "^container .*id=$CID .*state=ended"

# A second pod comes, the first container goes: the scan sees both, and what has ended keeps its name and its files.
first=$web second=22222222-2222-3333-4444-555555555555
pod db "$second"
expect_says ps "^container .*id=$CID uid=$second .*name=main pod=db .*profile= "
/usr/bin/python3 e2e/cri/pod.py "$socket" stop "$first"
expect_says ps "^container .*id=$first .*state=ended .*name=main pod=web .*"
expect_says stats 'found_late=[1-9].* lost_late=[1-9]'
expect_says stats 'timeouts=0 unreachable=0 .*malformed=0 failed=0 answered=1'
registry_ends

# The runtime dies. Who is new knows names by the runtime's files, says what is missing, and learns the rest later.
kill -9 "$(cat "$ctd/pid")"
await bash -c "! ctr -a $socket --timeout 200ms version"
registry --host-root "$ctd/host"
expect_says ps "^container .*id=$CID .*state=known told=file sandbox=0 name=main pod=db namespace=prod"
expect_says stats 'unreachable=[1-9].* answered=0'
expect_says stats '^why=.*containerd.sock: Connection refused'
bash e2e/cri/up.sh "$ctd" hybrid
expect_says ps "^container .*id=$CID .*told=runtime .*name=main pod=db namespace=prod image=registry.local/busybox:1"
expect_says stats 'answered=1'
expect_says stats '^why=$'
registry_ends

# No runtime is there, or one that never answers: containers are known by their ids, and why is said.
registry --host-root "$TMP" --socket "$TMP/none.sock"
expect_says ps "^container .*id=$CID uid=$second .*state=new told=nothing"
expect_says stats '^why=.*none.sock: No such file'
registry_ends
/usr/bin/python3 -c 'import socket, sys, time
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(64); time.sleep(100)' "$TMP/hung.sock" &
at_exit "kill $!"
await test -S "$TMP/hung.sock"
registry --host-root "$TMP" --socket "unix://$TMP/hung.sock"
expect_says ps "^container .*id=$CID .*state=new told=nothing .*init=[1-9]"
expect_says stats 'timeouts=[1-9]'
expect_says stats '^why=.*hung.sock: Connection timed out'
registry_ends

# Runtimes that are odd.
fake() { # KIND
    /usr/bin/python3 e2e/cri/fake.py "$TMP/$1.sock" "$1" "$CID" &
    at_exit "kill $!"
    await test -S "$TMP/$1.sock"
    registry --host-root "$TMP" --socket "$TMP/$1.sock" --timeout 1000
}
fake old
expect_says ps "^container .*id=$CID .*told=runtime sandbox=0 name=elderly"
expect_says stats 'runtime=fake 1.0'
registry_ends
fake none
expect_says stats 'unsupported=[1-9].* answered=0'
expect_says stats '^why=.*none.sock: the server does not implement the container runtime interface'
registry_ends
fake huge
expect_says stats 'malformed=[1-9].* answered=0'
expect_says stats '^why=ListContainers: .*Message too long'
registry_ends
fake garbage
expect_says stats 'malformed=[1-9].* answered=0'
expect_says stats '^why=.*garbage.sock: the response to ListContainers is malformed'
expect_says ps "^container .*id=$CID .*told=nothing"
registry_ends

# A hybrid machine whose runtime joins version 1 only: the controller names containers there, not the unified tree.
id=$(printf '%064d' 7)
for tree in pids unified; do
    group=/sys/fs/cgroup/$tree/xprof-cri-old-$$
    mkdir -p "$group"
    [ "$tree" = unified ] || mkdir -p "$group/docker/$id"
    at_exit "rmdir $group/docker/$id $group/docker $group"
done
# shellcheck disable=SC2016
wrap+=(unshare -m --propagation private bash -c 'cd /sys/fs/cgroup && mkdir -p "$1/pids" "$1/unified" &&
    mount --bind pids/"$0" "$1/pids" && mount --bind unified/"$0" "$1/unified" && shift && exec "$@"' "xprof-cri-old-$$" "$TMP/cg")
registry --socket none --cgroup-root "$TMP/cg"
expect_says stats 'mode=hybrid unified=0 controller=pids'
registry_ends
mkdir -p "/sys/fs/cgroup/unified/xprof-cri-old-$$/docker/$id"
registry --socket none --cgroup-root "$TMP/cg"
expect_says stats 'mode=hybrid unified=1 controller= '
registry_ends
