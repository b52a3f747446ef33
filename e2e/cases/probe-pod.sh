#!/bin/bash
# Probes in a file of a pod, by the names that Kubernetes has for it, in a real containerd: functions are listed and counted;
# a name that there is not is answered with what there is.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need_kernel 6.6 'uprobe_multi links'
need containerd runc ctr busybox gcc nsenter unshare
/usr/bin/python3 -c 'import grpc' 2>/dev/null || skip "there is no python3-grpcio"

ctd=$TMP/ctd uid=11111111-2222-3333-4444-555555555555
socket=$ctd/host/run/containerd/containerd.sock
bash e2e/cri/images.sh "$TMP/images"
at_exit "bash e2e/cri/down.sh $ctd"
bash e2e/cri/up.sh "$ctd" hybrid "$TMP/images/pause.tar" "$TMP/images/busybox.tar" || skip "containerd does not start here"
eval "$(/usr/bin/python3 e2e/cri/pod.py "$socket" run web prod "$uid" "$(cat "$ctd/parent")/kubepods/burstable/pod$uid" -- \
    /bin/sh -c 'while [ ! -e /go ]; do sleep 0.1; done; /program; sleep 1; /program; sleep 100')"

# The program comes into the container only, and is on no other path.
OUT=program build_target probes -static
init() { # the first process of the container
    grep -lE "$CID" /proc/[0-9]*/cgroup 2>/dev/null | head -n 1 | cut -d/ -f3
}
await test -n "$(init)"
inside=/proc/$(init)/root
cp "$TMP/program" "$inside/program"
rm "$TMP/program"

file=pod:prod/web/main:/program
"$XPROF" list --cri-socket "$socket" "uprobe:$file:wei" >"$TMP/list" 2>"$errors" || fail "the list"
grep -qE "^uprobe:$file:weigh (emulated|single-stepped)$" "$TMP/list" || { cat "$TMP/list" && fail "the list"; }

record -a -d 5s --cri-socket "$socket" -e "uprobe:$file:weigh" --value arg2:bytes &
recorder=$!
at_exit "kill \$(pgrep -P $recorder) 2>/dev/null"
await has_program xp_on_function
sleep 0.5
touch "$inside/go"
wait $recorder || fail "a recording"
echo 1 >"$TMP/x.sample"
n=$(samples_of program)
[ "$n" = 10100 ] || fail "$n, not 10100"
n=$(samples_of 'program;.*main;apples;weigh') # when it runs first, its unwind table is made
[ "$n" -ge 5050 ] || fail "$n, not 5050"

expect_exit 2 'no such container runs here; containers of the pod: main' \
    "$XPROF" record -a --cri-socket "$socket" -e uprobe:pod:prod/web/other:/program:weigh
expect_exit 2 'pod:prod/nobody/main: no such container runs here' \
    "$XPROF" record -a --cri-socket "$socket" -e uprobe:pod:prod/nobody/main:/program:weigh
expect_exit 2 '/nothing: No such file' "$XPROF" record -a --cri-socket "$socket" -e uprobe:pod:prod/web/main:/nothing:weigh
expect_exit 2 'expected pod:NAMESPACE/NAME/CONTAINER:/PATH' "$XPROF" record -a -e uprobe:pod:web:/program:weigh
expect_exit 1 'that is known: .*none.sock: No such file' "$XPROF" list --cri-socket "$TMP/none.sock" "uprobe:$file"
