#!/bin/bash
# Beside programs that claim to be Java virtual machines and lie about all that is read of them, and two whose memory hangs
# who reads it, another container's Java is profiled as if they were not there; and what they cost the agent is limited.
set -euo pipefail
. e2e/lib.sh
need_root
need go python3
[ -w /dev/fuse ] || skip "there is no /dev/fuse"
. e2e/agent/lib.sh
. e2e/java/lib.sh

lies='segments endless stride kernel unreadable everything overlap places names frozen deep bytes tables'
build_java Chains
build_target hangfs
gcc -O2 -I. -Iagent e2e/java/hostile.c -o "$TMP/hostile"
"$TMP/hostile" "$TMP/lib" sound 0 >"$TMP/out" || skip "memory cannot be mapped at the lowest addresses"
INTERVAL=2s

victim() { # TWO_HEX_DIGITS
    make_container "$(printf "$1%.0s" {1..32})"
    (contained "${javas[-1]}" -cp "$TMP" Chains 6000 c03) >"$TMP/$1" 2>&1 || fail "the program failed"
}

# Percent of its samples that are whole, and of those in c03 that are in the rest of the chain, too. The first interval, in
# which it starts, is left out.
judge() { # TWO_HEX_DIGITS
    local all='' seen=- begun with cut id
    id=$(printf "$1%.0s" {1..6})
    await has_profiles "host/$id"
    while [ "$seen" != "$all" ]; do # the last ones may still be coming
        sleep 3
        seen=$all
        read -r all _ <<<"$(tally "host/$id")"
    done
    rm "$(compgen -G "$out/host/$id/*.pb.gz" | sort | head -n 1)"
    read -r all _ begun _ <<<"$(tally "host/$id" Chains.c03)"
    read -r all _ with cut <<<"$(tally "host/$id" Chains.in5)"
    awk -v all="$all" -v begun="$begun" -v with="$with" -v cut="$cut" 'BEGIN {
        if (begun < 100) exit 1
        printf "%.2f %.2f\n", 100 * (all - cut) / all, 100 * with / begun }' || fail "there are only $begun of $all samples"
}

lie() { # KIND
    (echo $BASHPID >"$TMP/pid" && contained nice -n 19 "$TMP/hostile" "$TMP/lib-$1" "$1" 90 "$TMP/fs/program") >"$TMP/out-$1" 2>&1 &
    at_exit "kill -KILL $!"
    await grep -q ready "$TMP/out-$1"
}

for_each_java 17 25
make_container "$(printf 'cd%.0s' {1..32})"
mkdir "$TMP/fs"
(contained "$TMP/hangfs" "$TMP/fs" "$(command -v sleep)" read) &
at_exit "kill -TERM $!; umount -l $TMP/fs"
await pgrep -f '^program'
hanging=()
for kind in hang-names hang-tables; do # before anybody hangs there, who would keep them from opening it
    lie $kind
    hanging+=("$(<"$TMP/pid")")
    kill -STOP "${hanging[-1]}"
done
liars=("${groups[@]}")
start_agent --host-processes off --rate 199 --max-rate 199 --max-cpu 100
victim ab
read -r whole chain < <(judge ab)
echo "alone: $whole % of the stacks are whole, $chain % of the chains are, too; the agent has $(($(memory_of_agent VmHWM) / 1024)) MiB"

groups=("${liars[@]}")
for pid in "${hanging[@]}"; do kill -CONT "$pid"; done
for kind in $lies; do lie "$kind"; done
await has_profiles host/cdcdcdcdcdcd
before=$(cpu_of_agent)
began=$(date +%s%N)
victim ef
took=$(($(cpu_of_agent) - before))
lasted=$((($(date +%s%N) - began) / 1000000))
read -r beside in_chain < <(judge ef)
mib=$(($(memory_of_agent VmHWM) / 1024))
echo "beside them: $beside % are whole, $in_chain % of the chains, too; the agent has $mib MiB and took $took ms in $lasted ms"
is "$beside" '>=' 99 || fail "only $beside % of the other container's stacks are whole"
is "$in_chain" '>=' "$chain - 2" || fail "only $in_chain % of the other container's chains are whole, not $chain %"
is "$mib" '<=' 300 || fail "the agent takes $mib MiB"
is "$took" '<=' "0.5 * $lasted" || fail "the agent takes $took ms in $lasted ms"
curl -sf "$page/healthz" >/dev/null || fail "the agent is not well"
began=$SECONDS
end_agent
[ $((SECONDS - began)) -le 10 ] || fail "the agent took $((SECONDS - began)) s to end"
