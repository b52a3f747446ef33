#!/bin/bash
# A container runs code from ten FUSE file systems that answer its own requests and nobody else's. The profile of another
# container, metrics and the end of the agent are as if it was not there.
set -euo pipefail
. e2e/lib.sh
need_root
need go
[ -w /dev/fuse ] || skip "there is no /dev/fuse"
. e2e/agent/lib.sh

build_target hangfs
build_target layout -static
OUT=victim build_target layout
start_agent --host-processes off --rate 199 --max-rate 199 --max-cpu 100
make_container "$(printf 'ab%.0s' {1..32})"
for i in {0..9}; do
    kinds=(open read flush)
    mkdir "$TMP/fs$i"
    (contained "$TMP/hangfs" "$TMP/fs$i" "$TMP/layout" "${kinds[i % 3]}") &
    at_exit "kill -TERM $!; umount -l $TMP/fs$i"
done
await pgrep -f "^program"
make_container "$(printf 'cd%.0s' {1..32})"
for i in {1..8}; do # a new program each time: all are to be opened while those others hang
    cp "$TMP/victim" "$TMP/victim$i"
    (contained "$TMP/victim$i" 500)
done
await has_profiles host/cdcdcdcdcdcd
left=$(metric xprof_children_left_behind)
hung=$(metric xprof_file_systems_hung)
await has_profiles host/abababababab
began=$SECONDS
end_agent
took=$((SECONDS - began))
echo "$hung file systems hang, $left processes wait for them; the agent ended within $took s"
for name in main outer middle inner; do
    part=$(percent_with host/cdcdcdcdcdcd $name)
    echo "$part % of the neighbour's samples have $name"
    [ "$part" -ge 95 ] || fail "it is to be in nearly all of them"
done
if [ "$left" -lt 1 ] || [ "$left" -gt 16 ]; then fail "$left processes were left behind"; fi
[ "$hung" -ge 1 ] || fail "no file system is said to hang"
[ "$took" -le 10 ] || fail "the agent took $took s to end"
