#!/bin/bash
# In an agent, a container has its own kernel memory only, in each interval, also while it allocates nothing, and without
# what it has freed.
set -euo pipefail
. e2e/lib.sh
need_root
need go
. e2e/agent/lib.sh
. e2e/pprof.sh

build_target kernel_memory -pthread
cp "$TMP/kernel_memory" "$TMP/neighbour"
files=/dev/shm/xprof-e2e-$$ # a tmpfs
mkdir -p "$files/mine" "$files/other" 2>/dev/null || skip "there is no tmpfs /dev/shm"
at_exit "rm -rf $files"
id=$(printf 'ab%.0s' {1..32})
INTERVAL=2s start_agent --events kmem --host-processes off
make_container "$id"
"$TMP/neighbour" 8000 "$files/other" 6 >/dev/null &
neighbour=$!
at_exit "kill -KILL $neighbour"
(contained "$TMP/kernel_memory" 8000 "$files/mine" 6) >"$TMP/own" &
pid=$!
at_exit "kill -KILL $pid"

# Bytes in use of the pages in pipes, in each interval.
held() {
    local f
    for f in $(compgen -G "$out/host/${id:0:12}/*.pb.gz" | sort); do
        profile_rows "$f" | awk -F '\t' '
            $2 ~ /^[^;]*\[pages\]/ && $2 ~ / fill_pipes / { split($1, v, " "); sum += v[4] }
            END { printf "%.0f\n", sum }'
    done
}
# 4,000 pages are left, each of which is sampled with a probability of 1 / 128: four standard deviations.
is_held() { # TIMES
    held | awk -v n="$1" '$1 > 4e6 && $1 < 29e6 { k++ } END { exit k < n }'
}

sleep 8 # profiles wait for the names of containers first
await is_held 1
await is_held 3
held
grep -q 'make_pipes' "$TMP/own" || fail "the program did not run"
lost=$(metric xprof_samples_lost_total 'cause="(wait|sum|block|scratch)"')
end_agent
[ "$lost" = 0 ] || fail "$lost were lost"
! has_function "host/${id:0:12}" neighbour || fail "the container has kernel memory of others"
has_function "host/${id:0:12}" fill_pipes || fail "the container does not have its own"
