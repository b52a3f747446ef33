#!/bin/bash
# The disk of the spool and the cache takes no writes for half a minute. Sampling goes on, nothing that was sampled is
# lost, the agent says that it lives and how late it is, and a reload meanwhile changes nothing of that.
set -euo pipefail
. e2e/lib.sh
need_root
need go fsfreeze mkfs.ext4 losetup
. e2e/agent/lib.sh

stall=30
truncate -s 96M "$TMP/image"
mkfs.ext4 -q "$TMP/image"
mkdir "$TMP/disk"
mount -o loop "$TMP/image" "$TMP/disk" 2>/dev/null || skip "no file system can be mounted from a file"
at_exit "umount -l $TMP/disk"
at_exit "fsfreeze -u $TMP/disk"
state=$TMP/disk/state

build_target layout -static
start_agent --host-processes off --rate 99 --max-cpu 200 --cache-dir "$TMP/disk/cache"
ids=("$(printf 'ab%.0s' {1..32})" "$(printf 'cd%.0s' {1..32})")
for id in "${ids[@]}"; do
    make_container "$id"
    (contained "$TMP/layout" 600000) &
    workloads+=($!)
    at_exit "kill $!"
done
await has_profiles host/abababababab
await has_profiles host/cdcdcdcdcdcd

before=$(metric xprof_samples_total)
fsfreeze -f "$TMP/disk"
end=$((SECONDS + stall))
until [ $SECONDS -ge $end ]; do
    curl -sf -m 2 "$page/healthz" >/dev/null || fail "it does not say that it lives while the disk stalls"
    page_now=$(curl -sf -m 2 "$page/metrics") || fail "there are no metrics while the disk stalls"
    if [ -z "${reloaded:-}" ] && [ $SECONDS -ge $((end - stall / 2)) ]; then reloaded=yes && kill -HUP "$agent_pid"; fi
    sleep 1
done
lag=$(sum_of_metric xprof_lag_seconds <<<"$page_now")
seen=$(sum_of_metric xprof_samples_total <<<"$page_now")
fsfreeze -u "$TMP/disk"
kill "${workloads[@]}"
caught_up() {
    is "$(metric xprof_lag_seconds)" '<' 1
}
await caught_up
sleep 2 # the last interval
lost=$(metric xprof_samples_lost_total)
taken=$(metric xprof_samples_total)
errors_of_disk=$(metric xprof_spool_disk_errors_total)
end_agent
echo "after $stall s profiles were $lag s late, and $((${seen%.*} - ${before%.*})) samples had been taken meanwhile"
is "$lag" '>=' $((stall / 2)) || fail "the metrics do not say how late profiles are"
[ "$lost" = 0 ] || fail "$lost samples were lost"
[ "$errors_of_disk" = 0 ] || fail "the stall was taken for an error"
sum=0
for id in "${ids[@]}"; do
    read -r got _ <<<"$(tally "host/${id:0:12}")"
    echo "$got samples in the profiles of a container"
    sum=$((sum + got))
done
is "$sum" '>=' "$taken - 2" || fail "$sum samples are in profiles, not all $taken"
