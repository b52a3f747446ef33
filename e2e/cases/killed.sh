#!/bin/bash
# A recording that is killed leaves neither eBPF programs nor helper processes behind, 5 s later.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need bpftool jq

sleep 1000 &
sleeper=$!
at_exit "kill $sleeper"
record -e cpu,offcpu,runqueue,wakeup,lock,file,net,disk -p $sleeper &
recorder=$!
await follows_waits
programs=$(programs_of "$xprof")
helpers=$(descendants "$xprof")
echo "$(wc -w <<<"$programs") programs, $(wc -w <<<"$helpers") helpers"
[ "$(wc -w <<<"$programs")" -gt 10 ] || fail "hardly any program was loaded"
[ "$(wc -w <<<"$helpers")" -gt 1 ] || fail "it had no helpers: that is not what this is about"

kill -KILL "$xprof"
sleep 5
for id in $programs; do
    ! bpftool prog show id "$id" >/dev/null 2>&1 || fail "the program $(name_of_program "$id") is still there"
done
for helper in $helpers; do
    ! kill -0 "$helper" 2>/dev/null || fail "a helper is still there: $(tr '\0' ' ' <"/proc/$helper/cmdline")"
done
