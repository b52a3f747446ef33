#!/bin/bash
# The systemd unit under a real systemd, which is PID 1 of namespaces of its own: ready by sd_notify, with no more than
# nine capabilities and everything else that the unit takes away; reload and stop.
set -euo pipefail
. e2e/lib.sh
. e2e/agent/lib.sh
need_root
need unshare nsenter
[ -x /lib/systemd/systemd ] || skip "there is no systemd"

# What the machine has is not touched: /run, /var/lib and the units are others.
mkdir -p "$TMP/units"
sed 's|/usr/local/bin/xprof|/run/test/xprof|; s|/etc/xprof/|/run/test/|' deploy/systemd/xprof.service >"$TMP/units/xprof.service"
for target in network-online basic sysinit shutdown; do
    printf '[Unit]\nDefaultDependencies=no\n' >"$TMP/units/$target.target"
done
printf '[Unit]\nDefaultDependencies=no\nWants=xprof.service\n' >"$TMP/units/test.target"
printf 'interval: 1s\nexclusive: off\nlisten: "127.0.0.1:%s"\n' "$port" | cat deploy/systemd/xprof.yaml - >"$TMP/xprof.yaml"
cat >"$TMP/init" <<END
set -e
mount --make-rprivate /
mount -t tmpfs tmpfs /run
mkdir /run/test
cp "$XPROF" /run/test/xprof
cp "$TMP/xprof.yaml" /run/test/
cp -r "$TMP/units" /run/test/
mount -t tmpfs tmpfs /var/lib
mount -t tmpfs tmpfs /var/cache
umount -R /sys/fs/cgroup
mount -t cgroup2 none /sys/fs/cgroup
exec env -i container=test SYSTEMD_UNIT_PATH=/run/test/units PATH=$PATH /lib/systemd/systemd --system --unit=test.target \
    --log-target=console
END
group=/sys/fs/cgroup
[ ! -d $group/unified ] || group=$group/unified
group=$group/xprof-unit-$$
mkdir $group
at_exit "sleep 0.5; find $group -depth -type d -exec rmdir {} +"
(
    echo $BASHPID >$group/cgroup.procs
    exec unshare --cgroup --uts --ipc --pid --mount --fork --kill-child --mount-proc bash "$TMP/init" >"$TMP/systemd" 2>&1 </dev/null
) &
at_exit "kill -KILL $!"
outer=$!
has_child() {
    init=$(pgrep -P $outer)
}
await has_child
inside() {
    nsenter -t "$init" --cgroup --uts --ipc --pid --mount -- "$@"
}

active() {
    [ "$(inside systemctl is-active xprof)" = active ]
}
await active || fail "not active: $(cat "$TMP/systemd")"
await curl -sf "$page/readyz"
main=$(inside systemctl show -P MainPID xprof)
have=$(inside sed -n 's/^CapEff:\t//p' "/proc/$main/status")
[ "$((0x$have))" = $((1 << 39 | 1 << 38 | 1 << 19 | 1 << 2 | 1 << 34 | 1 << 40 | 1 << 7 | 1 << 6 | 1 << 5)) ] || fail "the agent has $have"
wrote() {
    inside find /var/lib/xprof/profiles -name '*.pb.gz' | grep -q .
}
await wrote

inside systemctl reload xprof
reloaded() {
    [ "$(metric xprof_config_reloads_total 'outcome="ok"')" = 1 ]
}
await reloaded
inside systemctl stop xprof
[ "$(inside systemctl show -P Result xprof)" = success ] || fail "it did not end well: $(cat "$TMP/systemd")"
