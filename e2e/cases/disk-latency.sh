#!/bin/bash
# The latency of disks on an agent's page of metrics: as many requests of each sort as the kernel's own books have, and
# their time.
set -euo pipefail
. e2e/lib.sh
need_root
need losetup
. e2e/agent/lib.sh

file=$(mktemp "$PWD/disk.XXXXXX") # in the tree's file system: that of $TMP may be in memory
at_exit "rm -f '$file'"
head -c 64M /dev/zero >"$file"
disk=$(losetup -f --show "$file" 2>/dev/null) || skip "no loop device can be set up"
at_exit "losetup -d $disk"
name=${disk#/dev/}

# Reads, writes, and their milliseconds.
books() {
    awk -v d="$name" '$3 == d { print $4, $8, $7, $11 }' /proc/diskstats
}

start_agent --events disk
figure() { # SUFFIX OPERATION
    curl -sf "$page/metrics" | awk -v n="xprof_disk_request_seconds_$1" -v d="device=\"$name\"" -v o="operation=\"$2\"" '
        index($1, n "{") == 1 && index($1, d) && index($1, o) { s += $NF } END { print s + 0 }'
}
counts() {
    dd if="$disk" of=/dev/null bs=4k count=1 iflag=direct
    [ "$(figure count read)" -gt 0 ]
}
await counts
sleep 6 # until all of that is there
before=$(books)
reads=$(figure count read) time=$(figure sum read)
[ "$(figure count write)" = 0 ] || fail "there are writes that nobody has made"
dd if=/dev/zero of="$disk" bs=256k count=200 oflag=direct 2>/dev/null
dd if="$disk" of=/dev/null bs=256k count=240 iflag=direct 2>/dev/null
dd if=/dev/zero of="$disk" bs=4k count=64 oflag=direct,dsync 2>/dev/null
after=$(books)

all_are_there() {
    [ "$(($(figure count read) - reads)) $(($(figure count write) + $(figure count flush)))" = \
        "$(awk -v a="$after" -v b="$before" 'BEGIN { split(a, x); split(b, y); print x[1] - y[1], x[2] - y[2] }')" ]
}
await all_are_there
[ "$(figure count read)" -ge 240 ] || fail "there are not all reads"
r=$(figure sum read) w=$(figure sum write) f=$(figure sum flush)
awk -v a="$after" -v b="$before" -v r="$r" -v t="$time" -v w="$w" -v f="$f" '
    function differ(what, own, n, ms) { # the kernel begins a little earlier and ends a little later: 20 us, if it is busy
        printf "%d %s: %.1f ms of %d\n", n, what, own, ms
        return own > ms * 1.05 + 2 || own < ms * 0.95 - 2 - n * 0.02
    }
    BEGIN {
        split(a, x); split(b, y)
        if (differ("reads", (r - t) * 1000, x[1] - y[1], x[3] - y[3])) exit 1
        exit differ("writes", (w + f) * 1000, x[2] - y[2], x[4] - y[4]) }' || fail "not the time that the kernel has"

# Each bucket has what is in those before, and the last one all.
curl -sf "$page/metrics" | awk -v d="device=\"$name\"" '
    /^xprof_disk_request_seconds_bucket/ && index($1, d) && /operation="read"/ {
        n++; if ($NF < last) exit 1; last = $NF; if (/le="\+Inf"/) all = $NF }
    END { exit n != 22 || all != last || all < 240 }' || fail "the buckets do not add up"

# Prometheus's own reader, where it is.
if command -v promtool >/dev/null; then
    curl -sf "$page/metrics" | promtool check metrics >"$TMP/check" 2>&1 || true
    grep 'xprof_disk_request' "$TMP/check" && fail "promtool does not like it"
fi

end_agent
