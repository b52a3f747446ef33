#!/bin/bash
# An evil hour for a node, in MINUTES (10): 300 containers a minute come and go, 2,000 processes run a little now and then,
# and six containers do what they can to blind, slow or mislead the profiles of others. Three more, the victims, have CPU time
# reserved and nothing to do with that: their profiles are to be, per second of CPU that they used, 99 % of what they are on a
# quiet node, in samples and in whole stacks; memory and descriptors of the agent and its children are to stay flat.
#   make soak MINUTES=20
set -euo pipefail
cd "$(dirname "$0")/.."
MINUTES=${MINUTES:-10}
ALONE=${ALONE:-120} # seconds of the quiet node
XPROF=$(realpath "${XPROF:-build/xprof}")
TMP=$(mktemp -d)
export XPROF
. e2e/lib.sh
at_exit "rm -rf $TMP"
need_root
need go python3 unshare gcc
[ -w /dev/fuse ] || skip "there is no /dev/fuse"
. e2e/agent/lib.sh
INTERVAL=5s

# ---- Containers --------------------------------------------------------------------------------------------------------------

id_of() { # NAME: 64 hexadecimal digits
    echo -n "$1" | sha256sum | cut -c 1-64
}
weigh() { # FOLDER WEIGHT, 100 being usual
    if [ -e "$1/cpu.weight" ]; then echo "$2" >"$1/cpu.weight"; fi
    if [ -e "$1/cpu.shares" ]; then echo $(($2 * 1024 / 100)) >"$1/cpu.shares"; fi
}
container() { # NAME WEIGHT
    local procs
    make_container "$(id_of "$1")"
    for procs in "${groups[@]}"; do
        weigh "${procs%/*}" "$2"
        weigh "${procs%/*/*}" 200 # all of them together, beside what else the machine does
        weigh "${procs%/*/*/*}" 200
    done
    at_exit "empty $1"
}
file_of() { # NAME FILE: in its cgroup, of the first hierarchy that has it
    local root
    for root in /sys/fs/cgroup /sys/fs/cgroup/*; do
        if [ -e "$root/xprof-e2e-$$/docker/$(id_of "$1")/$2" ]; then echo "$root/xprof-e2e-$$/docker/$(id_of "$1")/$2" && return; fi
    done
}
empty() { # NAME: kills all who are in it
    local i p procs
    procs=$(file_of "$1" cgroup.procs)
    for ((i = 0; i < 100; i++)); do
        while read -r p; do kill -KILL "$p"; done <"$procs"
        [ -n "$(cat "$procs")" ] || return 0
        sleep 0.1
    done 2>/dev/null
}
cpu_ns() { # NAME: CPU time used in it so far
    local usage
    usage=$(file_of "$1" cpuacct.usage)
    if [ -n "$usage" ]; then cat "$usage"; else
        awk '$1 == "usage_usec" { printf "%d000\n", $2 }' "$(file_of "$1" cpu.stat)"
    fi
}

# ---- Victims -----------------------------------------------------------------------------------------------------------------

build_target steady
cat >"$TMP/steady.py" <<'EOF2'
import random, time
def work(end):
    while time.thread_time() < end:
        sum(range(1000))
while True:
    work(time.thread_time() + random.uniform(.02, .06))
    time.sleep(random.uniform(.05, .15))
EOF2
cat >"$TMP/renewed.sh" <<EOF2
i=0
while :; do # a program that is deployed anew, again and again
    cp $TMP/steady $TMP/renewed\$((i += 1))
    timeout 4 $TMP/renewed\$i
    rm $TMP/renewed\$i
done
EOF2
victims="plain python renewed"
declare -A function_of=([plain]=outer [python]=Py_BytesMain [renewed]=outer)
start_victims() { # PHASE
    container "$1-plain" 1000
    (contained "$TMP/steady") &
    container "$1-python" 1000
    (contained /usr/bin/python3 "$TMP/steady.py") &
    container "$1-renewed" 1000
    (contained bash "$TMP/renewed.sh" 2>/dev/null) &
}
stop_victims() { # PHASE: ends them, and notes the CPU time that they have used
    local v
    for v in $victims; do empty "$1-$v"; done
    for v in $victims; do cpu_ns "$1-$v" >"$TMP/used-$1-$v"; done
}
figures_of() { # PHASE VICTIM: CPU time of the profiles / used, samples, share that is whole, share with its function
    local samples ns with cut
    read -r samples ns with cut <<<"$(tally "host/$(id_of "$1-$2" | cut -c 1-12)" "${function_of[$2]}")"
    [ "$samples" -gt 0 ] || fail "$1-$2 has no samples"
    awk -v n="$samples" -v ns="$ns" -v used="$(cat "$TMP/used-$1-$2")" -v cut="$cut" -v with="$with" \
        'BEGIN { printf "%.4f %d %.4f %.4f\n", ns / used, n, 1 - cut / n, with / n }'
}

# ---- Hostile neighbours ------------------------------------------------------------------------------------------------------

build_target hangfs
OUT=still build_target layout -static -DFOREVER
build_target flip
OUT=lib.so build_target layout -shared -fPIC
head -c "$(stat -c %s "$TMP/lib.so")" /dev/zero >"$TMP/other"
build_target files -DFOREVER
mkdir "$TMP/many" "$TMP/own"
OUT=own/deep build_target deep
gcc -O2 e2e/jit/forger.c -o "$TMP/own/forger"
gcc -O2 bench/targets/groups.c -o "$TMP/groups"
build_rules all 100 65000
for i in {0..9}; do build_rules "part$i" $((100000 + i * 8000)) 8000; done
cat >"$TMP/jit.sh" <<'EOF2'
mount --bind "$1/own" /tmp # its /tmp: what is in $1 is not seen any more
awk 'BEGIN { for (i = 0; i < 5000000; i++) printf "%x 9 a_function_of_a_runtime_with_a_rather_long_name_%d\n", 8589934592 + 16 * i, i }' >/tmp/perf-1.map
(while sleep 1; do echo "300000000 9 one_more" >>/tmp/perf-1.map; done) &
while :; do /tmp/deep 3000 2000; /tmp/deep 40000 100; done &
exec /tmp/forger 1000000000
EOF2
hostile="rules hangs flips drips files jit"
start_hostile() {
    local i program kinds=(open read flush)
    container rules 5
    for program in all part{0..9}; do (contained "$TMP/$program") & done
    container hangs 5
    for i in {0..5}; do
        mkdir "$TMP/fs$i"
        (contained "$TMP/hangfs" "$TMP/fs$i" "$TMP/still" "${kinds[i % 3]}") &
        at_exit "kill -TERM $!; sleep 0.2; umount -l $TMP/fs$i"
    done
    container flips 5
    (contained "$TMP/flip" "$TMP/lib.so" "$TMP/other") &
    container drips 5
    (contained python3 e2e/targets/drip.py "$port" 0.5 >/dev/null 2>&1) &
    container files 100
    (contained "$TMP/files" 5000 "$TMP/many") &
    until [ -e "$TMP/many/4999" ]; do sleep 1; done
    container jit 5
    (contained unshare --mount --pid --fork --kill-child --mount-proc --propagation private bash "$TMP/jit.sh" "$TMP") &
    container crowd 200
    (contained "$TMP/steady" 2000 30000) &
}
start_churn() { # five a second, each with a process
    local tree=/sys/fs/cgroup/unified
    [ -d $tree ] || tree=/sys/fs/cgroup
    "$TMP/groups" "$tree/xprof-soak-$$" $((MINUTES * 300)) 10000 5 >/dev/null &
    churn=$!
    at_exit "kill -KILL $churn; find $tree/xprof-soak-$$ -depth -type d -exec rmdir {} +"
}
still_there() { # NAME...: with processes in it
    local name
    for name; do
        [ -n "$(cat "$(file_of "$name" cgroup.procs)")" ] || fail "$name has ended: this proves nothing"
    done
}

# ---- What the agent takes ----------------------------------------------------------------------------------------------------

agent_processes() {
    echo "$agent_pid"
    pgrep -P "$agent_pid" || true
}
note_agent() { # SECONDS: the time, memory in KiB (all, what is shared counted once; anonymous), descriptors, children, anonymous memory of the agent alone
    local p
    for p in $(agent_processes); do
        cat "/proc/$p/smaps_rollup" 2>/dev/null || true
        echo "Descriptors: $(find "/proc/$p/fd" -type l 2>/dev/null | wc -l)"
    done | awk -v t="$1" '/^Pss:/ { r += $2; n++ } /^Anonymous:/ { a += $2 } /^Descriptors:/ { d += $2 }
        n == 1 { own = a } END { print t, r, a, d, n - 1, own }' >>"$TMP/agent-figures"
}
descriptors() { # how many of which kind the agent itself has
    find "/proc/$agent_pid/fd" -type l -printf '%l\n' 2>/dev/null |
        sed -E "s/:\[.*//; s|^$TMP/many/.*|the container's many files|; s|^$TMP/.*|other files of this test|; s|^/sys/fs/cgroup/.*|cgroups|" |
        sort | uniq -c | sort -rn | head -n 12 || true # one is closed meanwhile
}
median() { # COLUMN FROM TO: of those seconds
    awk -v c="$1" -v a="$2" -v b="$3" '$1 >= a && $1 < b { print $c }' "$TMP/agent-figures" | sort -n |
        awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

# ---- The two phases ----------------------------------------------------------------------------------------------------------

options=(--host-processes off --rate 499 --max-rate 499 --max-cpu 100)
start_agent "${options[@]}"
start_victims alone
sleep "$ALONE"
stop_victims alone
sleep 6
end_agent

rm -rf "$TMP/cache" "$state"
start_agent "${options[@]}"
start_hostile
start_victims soak
start_churn
began=$SECONDS
echo "  seconds, Pss and anonymous memory (KiB), descriptors, children, anonymous memory of the agent alone:"
while [ $((SECONDS - began)) -lt $((60 * MINUTES)) ]; do
    note_agent $((SECONDS - began))
    if [ $((SECONDS - began)) -lt $((60 * MINUTES / 2)) ]; then descriptors >"$TMP/descriptors"; fi
    kill -0 "$agent_pid" || fail "the agent has ended"
    curl -sf -m 5 -o /dev/null "$page/healthz" || fail "no answer from /healthz after $((SECONDS - began)) s"
    sleep 5
done
awk 'NR % 6 == 1 { print "   ", $0 }' "$TMP/agent-figures"
descriptors >"$TMP/descriptors-late"
# shellcheck disable=SC2086 # words
still_there $hostile crowd
stop_victims soak
sleep 6
curl -sf "$page/metrics" >"$TMP/metrics"
end_agent

# ---- The verdict -------------------------------------------------------------------------------------------------------------

bad=0
check() { # TEXT LEFT OPERATOR RIGHT
    if is "$2" "$3" "$4"; then echo "  $1"; else echo "! $1: $2 is not $3 $4" && bad=1; fi
}
for v in $victims; do
    read -r time0 n0 whole0 with0 <<<"$(figures_of alone "$v")"
    read -r time1 n1 whole1 with1 <<<"$(figures_of soak "$v")"
    # Neighbours may take 1 %. The rest is chance: a stretch on a CPU has one sample more or less than its length says, which is
    # a variance of a quarter at most, for as many stretches as samples at most; three standard deviations of both phases.
    chance=$(awk -v a="$n0" -v b="$n1" 'BEGIN { printf "%.4f", 1.5 * sqrt(1 / a + 1 / b) }')
    check "$v: CPU time in profiles, of that used: $time1, alone $time0 ($n1 and $n0 samples: +-$chance)" "$time1" '>=' "(0.99 - $chance) * $time0"
    check "$v: whole stacks on a quiet node: $whole0" "$whole0" '>=' 0.99
    check "$v: whole stacks: $whole1, alone $whole0" "$whole1" '>=' "0.99 * $whole0"
    check "$v: with ${function_of[$v]}: $with1, alone $with0" "$with1" '>=' "0.99 * $with0"
done
end=$((60 * MINUTES))
settled=$((end > 480 ? 180 : end * 3 / 8)) last=$((end > 480 ? end - 120 : end * 3 / 4))
# Children that wait for a hung file system are left behind, 16 at most, ever more rarely as it hangs for longer: they are
# counted apart, at what a child takes that has nothing to do.
children0=$(median 5 $settled $((settled + end - last))) children1=$(median 5 $last $end)
more=$((children1 > children0 ? 1536 * (children1 - children0) : 0))
check "children: $children0 in minute $((settled / 60)), $children1 at the end" "$children1" '<=' 24
for column in 2:Pss 3:anonymous 6:'anonymous, without children'; do
    early=$(median "${column%%:*}" $settled $((settled + end - last))) late=$(median "${column%%:*}" $last $end)
    [ "${column%%:*}" != 6 ] || more=0
    check "memory (${column#*:}): $early KiB in minute $((settled / 60)), $late at the end" "$late" '<=' "$early + 2048 + $more"
done
early=$(median 4 $settled $((settled + end - last))) late=$(median 4 $last $end)
waiting=$((children1 > children0 ? 6 * (children1 - children0) : 0)) # descriptors of those that were left behind
check "descriptors: $early, $late at the end" "$late" '<=' "$early + 16 + $waiting"
echo "  descriptors of the agent itself at half time, and at the end:"
paste -d '|' "$TMP/descriptors" "$TMP/descriptors-late" | awk -F '|' '{ printf "    %-60s %s\n", $1, $2 }'
grep -E '^xprof_(cpu_seconds|stacks_total|samples_lost|files|children|file_systems)' "$TMP/metrics" | grep -v ' 0$' | sed 's/^/    /'
[ $bad = 0 ] || fail "neighbours reach further than they may"
