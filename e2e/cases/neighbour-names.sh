#!/bin/bash
# A container runs one program after another that each takes long to name, more than there is time for: its neighbour's
# profiles have all their names, inlined calls among them, and come as soon as usual.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need go
. e2e/agent/lib.sh

parts=24 functions=2500
awk -v n=$functions 'BEGIN {
    print "extern volatile unsigned long sink;"
    for (i = 0; i < n; i++) {
        printf "static int f%d(int x, long y) { struct s%d { int a; long b; } v = {x, y}; v.a += x * %d;", i, i, i
        print " v.b ^= y; sink += v.a + v.b; return v.a; }"
    }
    printf "static __attribute__((section(\"parts\"), used)) int (*part[])(int, long) = {"
    for (i = 0; i < n; i++) printf "f%d, ", i
    print "};" }' >"$TMP/part.c"
gcc -c -g -O0 -o "$TMP/part.o" "$TMP/part.c"
mapfile -t objects < <(yes "$TMP/part.o" | head -$parts)
OUT=hog build_target many "${objects[@]}"
OUT=victim build_target inlines -g

INTERVAL=2s start_agent --host-processes off --rate 999 --max-rate 999 --max-cpu 100
make_container "$(printf 'ab%.0s' {1..32})"
hogs=()
for loop in a b; do
    # shellcheck disable=SC2016
    (contained bash -c 'for ((i = 0; ; i++)); do cp "$1" "$1$2$i"; "$1$2$i"; rm "$1$2$i"; done' - "$TMP/hog" $loop) &
    hogs+=($!)
    at_exit "kill $!"
done
late() { [ "$(metric xprof_names_late_total "$1")" -gt 0 ]; }
await late lines

make_container "$(printf 'cd%.0s' {1..32})"
(contained "$TMP/victim" 4000) &
victim=$!
most=0
while kill -0 $victim 2>/dev/null; do
    lag=$(metric xprof_lag_seconds)
    most=$(awk -v a="$most" -v b="$lag" 'BEGIN { print (a > b ? a : b) }')
    sleep 0.2
done
wait $victim
end_agent
kill "${hogs[@]}"
echo "profiles were up to $most s late"
awk -v most="$most" 'BEGIN { exit most >= 4 }' || fail "a neighbour's files delay everybody's profiles"
read -r all _ whole _ <<<"$(tally host/cdcdcdcdcdcd main)"
read -r _ _ around _ <<<"$(tally host/cdcdcdcdcdcd 'around()')"
read -r _ _ inlined _ <<<"$(tally host/cdcdcdcdcdcd innermost)"
echo "the neighbour: $all stacks, $whole with main, $around with around(), $inlined with innermost, inlined into it"
[ $((100 * whole)) -ge $((97 * all)) ] || fail "its names are missing"
[ $((100 * inlined)) -ge $((97 * around)) ] || fail "its debug information is missing"
