#!/bin/bash
# A thread that sleeps through many intervals of an agent is in the profile of each, with all of its time.
set -euo pipefail
. e2e/lib.sh
need_root
need go
. e2e/agent/lib.sh

cp "$(command -v sleep)" "$TMP/sleeper"
INTERVAL=2s start_agent --events offcpu
"$TMP/sleeper" 20 &
sleeper=$!
at_exit "kill $sleeper"

has_intervals() { # NUMBER
    local n
    n=$(compgen -G "$out/host/sleeper/*.pb.gz" | wc -l)
    [ "$n" -ge "$1" ]
}
for n in 2 4 6; do await has_intervals $n; done
kill $sleeper
end_agent

# An interval may last longer than it should: what counts is that its time is there. Values: occurrences, ns.
mapfile -t profiles < <(compgen -G "$out/host/sleeper/*.pb.gz" | sort)
for f in "${profiles[@]:1:5}"; do # it began within the first one
    go tool pprof -raw -symbolize=none "$f" 2>/dev/null | awk '
        /^Duration:/ { wall = $2 }
        /^Locations/ { on = 0 }
        on && /^ *[0-9]+ +[0-9]+:/ { n += $1; off += $2 / 1e9; sub(/^[^:]*: */, ""); leaf[$1] = 1 }
        /^samples\// { on = 1 }
        !on && /\[sleep\]/ { right = $1 + 0 in leaf }
        END {
            printf "%.3f s of %.2f, %d begin\n", off, wall, n
            exit n || !right || wall < 1.9 || off < 0.95 * wall || off > 1.05 * wall
        }' || fail "in one of ${#profiles[@]} intervals it did not sleep all the time: $f"
done
