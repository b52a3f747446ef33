#!/bin/bash
# Time off CPUs is what the programs and the scheduler say, to the wait; its cause is right.
set -euo pipefail
. e2e/lib.sh
need_root
need go jq

build_target offcpu -pthread
file=$TMP/file
kinds=(sleep mutex cond pipe epoll child)
dd if=/dev/urandom of="$file" bs=1M count=64 conv=fsync status=none
if [ $(($(stat -c %d "$file") >> 8)) = 0 ]; then
    echo "$file is on no block device: disks are not tested"
elif ! dd if="$file" of=/dev/null iflag=direct bs=4k count=1 status=none; then
    echo "$file cannot be read without the page cache: disks are not tested"
else
    kinds+=("disk:$file" "fault:$file")
fi

before=$(stolen)
record -e offcpu,runqueue -o "$TMP/x.pb.gz" -- "$TMP/offcpu" "${kinds[@]}" >"$TMP/own"
stolen=$(($(stolen) - before))
expect .lost.wait == 0
expect '.lost["ring-full"]' == 0
expect_truth "$TMP/x.pb.gz" "$TMP/own" 0.2 "$stolen"

# Waits that the kernel did not announce have the cause `other`: their time is known, but not their stack.
while read -r kind pid _; do
    cause=$kind
    case $kind in
    mutex | cond) cause=lock ;;
    fault) cause="page fault" ;;
    esac
    awk -v pid="$pid" -v cause="$cause" '$1 == pid { c = $5 ($6 ? " " $6 : ""); all += $3; right += (c == cause) * $3 }
        END { printf "%s: %.2f %% of %.3f s\n", cause, 100 * right / all, all / 1e9; exit right < 0.99 * all }' \
        "$TMP/waits" || fail "the cause of $kind is wrong"
done <"$TMP/own"

number_of() { # KIND CAUSE
    awk -v pid="$(awk -v kind="$1" '$1 == kind { print $2 }' "$TMP/own")" -v cause="$2" '
        $1 == pid && ($5 == cause || $5 == "other") && $3 { n += $2 } END { print n + 0 }' "$TMP/waits"
}
[ "$(number_of sleep sleep)" = 200 ] || fail "it slept 200 times, not $(number_of sleep sleep)"
[ "$(number_of epoll epoll)" = 400 ] || fail "it waited for events 400 times, not $(number_of epoll epoll)"
