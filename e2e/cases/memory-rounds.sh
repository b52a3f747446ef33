#!/bin/bash
# Recordings of allocations that begin and end 24 times, half of them by SIGKILL at any moment; and an agent that follows the
# allocators of containers that come and go, until it is killed, too: no program, and no probe in the code of allocators,
# stays behind, memory stays flat, and all blocks of the programs are what they were.
# MEMORY_ROUNDS=1000 does a thousand; MEMORY_CONTAINERS is 40.
set -euo pipefail
. e2e/lib.sh
need_root
need bpftool jq
need_kernel 6.6 'uprobe_multi links'
. e2e/agent/lib.sh

rounds=${MEMORY_ROUNDS:-24} containers=${MEMORY_CONTAINERS:-40}
build_target keeper -pthread
OUT=keeper-static build_target keeper -pthread -static
"$TMP/keeper" 100 >"$TMP/own" &
running=$!
at_exit "kill -KILL $running"
sleep 0.3

# The code of libc in the program that runs.
read -r start end < <(awk '$2 ~ /x/ && /libc\.so/ { split($1, a, "-"); print a[1], a[2]; exit }' "/proc/$running/maps")
size=$((0x$end - 0x$start))
code() {
    dd if="/proc/$running/mem" iflag=skip_bytes,count_bytes,fullblock bs=64k skip=$((0x$start)) count=$size status=none |
        sha256sum
}
own_code=$(code)
is_probed() {
    [ "$(code)" != "$own_code" ]
}
held() {
    { cat /proc/[0-9]*/fdinfo/* 2>/dev/null || true; } | sed -n 's/^prog_id:[[:space:]]*//p' | sort -u
}
ours() { # numbers of programs that no process holds
    held >"$TMP/held"
    bpftool -j prog show | jq -r '.[] | select(.name // "" | test("^xp_")) | .id' | sort | comm -23 - "$TMP/held"
}
ours >"$TMP/before"
unharmed() {
    [ "$(code)" = "$own_code" ] && ours >"$TMP/after" && [ -z "$(comm -13 "$TMP/before" "$TMP/after")" ]
}

ways=('-e memory' '-e memory --memory-exact' '-e badfree' '-e memory --leaks' '-e memory,badfree,rss,vmem')
killed=0 ended=0 probed=0
for ((i = 0; i < rounds; i++)); do
    read -ra way <<<"${ways[i % ${#ways[@]}]}"
    if ((i % 2)); then
        "$XPROF" record --no-cache "${way[@]}" -p $running -o "$TMP/x.pb.gz" 2>"$errors" &
        recorder=$!
        if ((RANDOM % 2)); then
            await is_probed
        else
            sleep "0.$((RANDOM % 900 + 100))"
        fi
        ! is_probed || probed=$((probed + 1))
        kill -KILL $recorder
        wait $recorder 2>/dev/null || killed=$((killed + 1))
    else
        [ "${way[*]}" != '-e memory --leaks' ] || way+=(--older-than 100ms)
        "$XPROF" record --no-cache "${way[@]}" -p $running -d 200ms -o "$TMP/x.pb.gz" 2>"$errors" ||
            fail "round $i: ${way[*]}: $(cat "$errors")"
        ended=$((ended + 1))
    fi
    kill -0 $running || fail "round $i of ${way[*]}: the program is gone"
done
echo "$rounds rounds: $ended ended, $killed killed, $probed of them with probes in the code"
[ $probed -gt 0 ] || fail "no round was killed while the allocator was probed"
await unharmed

# Containers: half of their programs bring an allocator of their own.
make_container "$(printf 'f%.0s' {1..64})"
roots=("${groups[@]%/*/cgroup.procs}")
run_containers() { # FIRST COUNT: four at a time
    local i root pids=() folders=()
    for ((i = $1; i < $1 + $2; i++)); do
        groups=()
        for root in "${roots[@]}"; do
            folders+=("$root/$(printf '%064x' $((i + 1)))")
            mkdir "${folders[-1]}"
            groups+=("${folders[-1]}/cgroup.procs")
        done
        (contained "$TMP/keeper$([ $((i % 2)) = 0 ] || echo -static)" 100 >"$TMP/container.$i") &
        pids+=($!)
        if ((${#pids[@]} == 4 || i == $1 + $2 - 1)); then
            sleep 1
            kill -TERM "${pids[@]}"
            wait "${pids[@]}"
            rmdir "${folders[@]}"
            pids=() folders=()
        fi
    done
}
INTERVAL=2s start_agent --events memory,rss --host-processes off
run_containers 0 $((containers / 2))
first=$(memory_of_agent VmRSS)
run_containers $((containers / 2)) $((containers - containers / 2))
last=$(memory_of_agent VmRSS)
echo "$containers containers: $first KiB of memory, then $last"
[ "$last" -lt $((first + first / 5 + 4096)) ] || fail "memory grew from $first to $last KiB"
run_containers "$containers" 2 &
sleep 0.7
kill -KILL "$agent_pid"
wait $! || fail "containers did not end well"
await unharmed

kill -TERM $running
wait $running || fail "it did not end well"
for own in "$TMP/own" "$TMP"/container.*; do
    grep -Eq '^[1-9][0-9]* right, 0 wrong$' "$own" || fail "$own: $(cat "$own")"
done
echo "$(sed 's/ .*//' "$TMP/own") blocks of one program were right"
