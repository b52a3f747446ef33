#!/bin/bash
# Recordings of probes that begin and end 32 times, half of them by SIGKILL at any moment: no program, link, map or
# perf event stays behind, the code of the probed functions is as in the file, and the program's results are right.
# PROBE_ROUNDS=1000 does a thousand, and takes a quarter of an hour.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need_kernel 6.6 'uprobe_multi links'

build_target returns -pthread
target=$TMP/returns
"$target" go >"$TMP/own" &
running=$!
at_exit "kill -KILL $running"
sleep 0.2

# What others load and unload meanwhile is not ours: programs have names of ours, and nobody else's process holds them.
held() {
    { cat /proc/[0-9]*/fdinfo/* 2>/dev/null || true; } | sed -n 's/^prog_id:[[:space:]]*//p' | sort -u
}
ours() { # numbers of programs that no process holds
    held >"$TMP/held"
    bpftool -j prog show | jq -r '.[] | select(.name // "" | test("^xp_(on|after)_")) | .id' | sort |
        comm -23 - "$TMP/held"
}
at=$(nm "$target" | awk '$3 == "jumps" { print $1 }')
begins=$(sed -n 's/^\([0-9a-f]*\)-.* r-xp \([0-9a-f]*\) .*\/returns$/\1 \2/p' "/proc/$running/maps" | head -n 1)
read -r start offset <<<"$begins"
code() { # of jumps, in the running program
    dd if="/proc/$running/mem" bs=1 skip=$((0x$start - 0x$offset + 0x$at)) count=64 status=none | sha256sum
}
# The first segment begins at 0, so that offsets are addresses.
file=$(dd if="$target" bs=1 skip=$((0x$at)) count=64 status=none | sha256sum)
[ "$(code)" = "$file" ] || fail "the code differs before anything is probed"
is_probed() {
    [ "$(code)" != "$file" ]
}
ours >"$TMP/before"

rounds=${PROBE_ROUNDS:-32}
events=("uprobe:$target:jumps" "uretprobe:$target:jumps" "uprobe-latency:$target:jumps" "uprobe:$target:*" syscall:getppid
    tracepoint:sched:sched_switch syscall:rt_sigprocmask:latency usdt:libstdc++.so.6:libstdcxx:throw)
killed=0 ended=0 probed=0
for ((i = 0; i < rounds; i++)); do
    event=${events[i % ${#events[@]}]}
    if ((i / ${#events[@]} % 2)); then
        "$XPROF" record --no-cache -e "$event" -p $running -o "$TMP/x.pb.gz" 2>"$errors" &
        recorder=$!
        if [[ $event == u*probe* ]] && ((RANDOM % 2)); then
            await is_probed
        else
            sleep "0.$((RANDOM % 500 + 100))"
        fi
        ! is_probed || probed=$((probed + 1))
        kill -KILL $recorder
        wait $recorder 2>/dev/null || killed=$((killed + 1))
    else
        "$XPROF" record --no-cache -e "$event" -p $running -d 20ms -o "$TMP/x.pb.gz" 2>"$errors" || fail "round $i: $event"
        ended=$((ended + 1))
    fi
    kill -0 $running || fail "round $i of $event: the program is gone"
done
echo "$rounds rounds: $ended ended, $killed killed, $probed of them with the probe in the code"
[ $probed -gt 0 ] || fail "no round was killed while the function was probed"

unharmed() {
    [ "$(code)" = "$file" ] && ours >"$TMP/after" && [ -z "$(comm -13 "$TMP/before" "$TMP/after")" ]
}
await unharmed
kill -TERM $running
wait $running || fail "it did not end well: $(cat "$TMP/own")"
grep -qx 142 "$TMP/own" || fail "$(cat "$TMP/own"), not 142"
