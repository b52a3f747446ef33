#!/bin/bash
# Beside programs that claim to be CPython and lie about all that is read of them, and two whose memory hangs who reads it,
# another container's Python is profiled as if they were not there; what they cost the agent is limited; and names of each
# process are in stacks of that process only.
set -euo pipefail
. e2e/lib.sh
need_root
need go python3
[ -w /dev/fuse ] || skip "there is no /dev/fuse"
. e2e/agent/lib.sh

python=/usr/bin/python3
[ -x $python ] || skip "there is no $python"
honest='sound sound8 sound10 sound11 sound14 cycle frames holes kernel deep rounds ring threads reused places'
others='moving crowd search bytes offsets form control'
greedy='flood lines giant long longer' # what they have to say is more than a container's share
build_target hangfs
gcc -O2 -rdynamic -I. -Iagent e2e/python/hostile.c -o "$TMP/hostile" -pthread
"$TMP/hostile" "$TMP/lib" sound 0 >"$TMP/out" || skip "memory cannot be mapped at the lowest addresses"
INTERVAL=2s
cat >"$TMP/victim.py" <<'END'
import sys, time

def victim_leaf(end):
    while time.perf_counter() < end:
        sum(range(100))

def victim_middle(n, end):
    return victim_middle(n - 1, end) if n else sorted([end], key=victim_leaf)

def victim_root(seconds):
    victim_middle(5, time.perf_counter() + seconds)

victim_root(float(sys.argv[1]))
END

victim() { # TWO_HEX_DIGITS
    make_container "$(printf "$1%.0s" {1..32})"
    (contained $python "$TMP/victim.py" 6) >"$TMP/$1" 2>&1 || fail "the program failed"
}

# Percent of its samples that are whole, and that have both ends of the chain. The first interval, in which it starts, is
# left out.
judge() { # TWO_HEX_DIGITS
    local all='' seen=- with leaf cut id
    id=$(printf "$1%.0s" {1..6})
    await has_profiles "host/$id"
    while [ "$seen" != "$all" ]; do # the last ones may still be coming
        sleep 3
        seen=$all
        read -r all _ <<<"$(tally "host/$id")"
    done
    mkdir -p "$out/first/$id"
    mv "$(compgen -G "$out/host/$id/*.pb.gz" | sort | head -n 1)" "$out/first/$id"
    read -r all _ with cut <<<"$(tally "host/$id" victim_root)"
    read -r all _ leaf cut <<<"$(tally "host/$id" victim_leaf)"
    awk -v all="$all" -v with="$with" -v leaf="$leaf" -v cut="$cut" 'BEGIN {
        if (all < 100) exit 1
        printf "%.2f %.2f\n", 100 * (all - cut) / all, 100 * (with < leaf ? with : leaf) / all }' ||
        fail "there are only $all samples"
}

lie() { # KIND
    local kind=${1/longer/long}
    (echo $BASHPID >"$TMP/pid-$1" && contained nice -n 19 "$TMP/hostile" "$TMP/lib-$1" "$kind" 90 "$TMP/fs/program") \
        >"$TMP/out-$1" 2>&1 &
    at_exit "kill -KILL $!"
    await grep -q ready "$TMP/out-$1"
}

make_container "$(printf 'dc%.0s' {1..32})"
mkdir "$TMP/fs"
(contained "$TMP/hangfs" "$TMP/fs" "$(command -v sleep)" read) &
at_exit "kill -TERM $!; umount -l $TMP/fs"
await pgrep -f '^program'
hanging=()
for kind in hang-names hang-runtime; do # before anybody hangs there, who would keep them from opening it
    lie "$kind"
    hanging+=("$(<"$TMP/pid-$kind")")
    kill -STOP "${hanging[-1]}"
done
make_container "$(printf 'cd%.0s' {1..32})" # another one: in one that hangs nothing else is read for a while
liars=("${groups[@]}")
make_container "$(printf 'ba%.0s' {1..32})"
gluttons=("${groups[@]}")
start_agent --host-processes off --rate 199 --max-rate 199 --max-cpu 100
victim ab
read -r whole chain < <(judge ab)
alone=$(($(memory_of_agent VmHWM) / 1024))
echo "alone: $whole % of the stacks are whole, $chain % have the chain; the agent has $alone MiB"
is "$chain" '>=' 95 || fail "only $chain % have the chain"

for pid in "${hanging[@]}"; do kill -CONT "$pid"; done
groups=("${gluttons[@]}")
for kind in $greedy; do lie "$kind"; done
groups=("${liars[@]}")
for kind in $honest $others; do lie "$kind"; done
await has_profiles host/cdcdcdcdcdcd
before=$(cpu_of_agent)
began=$(date +%s%N)
victim ef
took=$(($(cpu_of_agent) - before))
lasted=$((($(date +%s%N) - began) / 1000000))
read -r beside in_chain < <(judge ef)
mib=$(($(memory_of_agent VmHWM) / 1024))
echo "beside them: $beside % are whole, $in_chain % have the chain; the agent has $mib MiB and took $took ms in $lasted ms"
python3 e2e/python/hostile.py "$out" "$honest" || fail "frames are not where they belong"
is "$beside" '>=' 99 || fail "only $beside % of the other container's stacks are whole"
is "$in_chain" '>=' "$chain - 2" || fail "only $in_chain % of the other container's stacks have the chain, not $chain %"
is "$mib" '<=' 300 || fail "the agent takes $mib MiB"
is "$took" '<=' "0.5 * $lasted" || fail "the agent takes $took ms in $lasted ms"
curl -sf "$page/healthz" >/dev/null || fail "the agent is not well"
began=$SECONDS
end_agent
[ $((SECONDS - began)) -le 10 ] || fail "the agent took $((SECONDS - began)) s to end"
