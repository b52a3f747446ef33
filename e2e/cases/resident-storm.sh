#!/bin/bash
# A program that faults in pages as fast as it can costs what it may and no more: what looks on rests, comes back, and says
# for how long it was there. What has changed meanwhile has no stack, but counts: the sum is what the kernel says.
set -euo pipefail
. e2e/lib.sh
need_root
need go

build_target faultstorm -g
sums() { # PROFILE: KB that have grown, that were returned, and that have grown without a stack
    GOTOOLCHAIN=local go tool pprof -symbolize=none -raw "$1" 2>/dev/null | awk '
        /^ *[0-9]+ +[0-9]+:/ { sub(/:/, "", $2); g = $1; grown += g; back += $2 }
        /cut:\[not-taken\]/ { without += g }
        END { printf "%d %d %d\n", grown / 1024, back / 1024, without / 1024 }'
}

# It costs no more than it may.
record -e rss -o "$TMP/x.pb.gz" -- "$TMP/faultstorm" 0 6
expect .lost.sum == 0
expect '.probes[0].seen_percent' '<' 60
expect '.probes[0].cost_seconds' '<' 0.3
grep -q 'rss: its probes cost more than 1 % of a CPU' "$errors" || fail "it is not said that it rests"
go tool pprof -comments "$TMP/x.pb.gz" 2>/dev/null | grep -q 'rss: was recorded [0-9.]* % of the time' ||
    fail "the profile does not say of how much it is"

# The program ends while what looks on rests, for two seconds or so.
record -e rss -o "$TMP/x.pb.gz" -- "$TMP/faultstorm" 200 1.5
expect '.probes[0].rests' == 1
read -r grown returned _ < <(sums "$TMP/x.pb.gz")
echo "seen $(value '.probes[0].seen_percent') % of the time: grown $grown KB, returned $returned KB"
if printf '6.1\n%s\n' "$(uname -r | sed 's/-.*//')" | sort -VC; then
    is $((grown - returned)) '<' 4096 || fail "$((grown - returned)) KB were not returned"
    is $((returned - grown)) '<' 4096 || fail "$((returned - grown)) KB have not grown"
fi

# What has grown is seen, all of it.
grows() { # DURATION ARGUMENT...: of faultstorm; sets $without
    local pid before after grown returned
    "$TMP/faultstorm" "${@:2}" &
    pid=$!
    at_exit "kill $pid"
    before=$(resident $pid)
    record -e rss -p $pid -o "$TMP/x.pb.gz" -d "$1"
    after=$(resident $pid)
    kill $pid
    expect '.probes[0].seen_percent' '<' 95
    expect '.probes[0].rests' '>=' 1
    read -r grown returned without < <(sums "$TMP/x.pb.gz")
    echo "it grew by $((after - before)) KB: grown $grown KB, returned $returned KB; without a stack: $without KB"
    awk -v a=$((grown - returned)) -v b=$((after - before)) \
        'BEGIN { exit !(a > b * 0.98 - 9000 && a < b * 1.02 + 9000) }' ||
        fail "it grew by $((after - before)) KB, $((grown - returned)) KB were seen"
}
resident() { # PID
    awk '/VmRSS/ { print $2 }' "/proc/$1/status"
}

# By what comes after, once what looks on is back.
grows 15s 0 8 300 4 60
is "$without" '>' 4096 || fail "nothing has changed while it rested: this is no test of that"
# Or nothing comes after: then the end of the interval tells. It may have been there by chance.
for _ in 1 2 3; do grows 6s 0 3 300 0 60; done

# Whatever it costs.
record -e rss --no-cap -o "$TMP/x.pb.gz" -- "$TMP/faultstorm" 200 3
expect '.probes[0].seen_percent' == 100
read -r grown returned without < <(sums "$TMP/x.pb.gz")
echo "--no-cap: grown $grown KB, returned $returned KB; without a stack: $without KB"
[ "$without" = 0 ] || fail "$without KB have no stack"
