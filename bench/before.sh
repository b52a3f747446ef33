#!/bin/bash
# What is there for other events must cost a recording of `cpu` alone nothing:
#  - Its eBPF object is the same, byte for byte, as that of a copy of the tree without the files of all other objects.
#  - What the recording loads, programs and maps, is of that object.
#  - BEFORE, an earlier binary, costs as much. That of the last commit before waits were followed (81aa457) does not have
#    the runtimes that `cpu` has learnt to unwind since. Of the rounds, the best one of each counts: others of the machine
#    disturb the rest.
set -euo pipefail
cd "$(dirname "$0")/.."
ROUNDS=${ROUNDS:-7}
# shellcheck source=bench/lib/agent.sh
. bench/lib/agent.sh before
command -v clang >/dev/null || skip_bench "there is no clang"

# Twice at one place, because objects name their sources: from the whole tree, and without the files that only other
# objects need.
tree=$TMP/tree
build_object() { # NAME
    touch "$tree/bpf/xprof.bpf.c"
    make -s -C "$tree" build/bpf/xprof.bpf.o
    mv "$tree/build/bpf/xprof.bpf.o" "$TMP/$1.o"
}
build_both() {
    mkdir -p "$tree/e2e"
    cp -a Makefile VERSION bpf "$tree"
    cp -a e2e/go "$tree/e2e"
    build_object whole
    tr ' ' '\n' <"$tree/build/bpf/xprof.bpf.d" | grep '^bpf/' | sed 's/:$//' | sort -u >"$TMP/needed"
    (cd "$tree" && find bpf/kinds bpf/*.h bpf/*.bpf.c -type f | sort -u | comm -23 - "$TMP/needed") >"$TMP/left-out"
    (cd "$tree" && xargs rm <"$TMP/left-out")
    build_object alone
}
build_both >"$TMP/make" 2>&1 || fail "it does not build: $(tail "$TMP/make")"
echo "without $(wc -l <"$TMP/left-out") files: $(sed 's,^bpf/,,' "$TMP/left-out" | tr '\n' ' ')" >&2
awk -v a="$(stat -c %s "$TMP/whole.o")" -v b="$(stat -c %s "$TMP/alone.o")" \
    -v same="$(cmp -s "$TMP/whole.o" "$TMP/alone.o" && echo pass || echo fail)" 'BEGIN {
    printf "before object, %d bytes, %d bytes without other kinds, %.4f, identical, %s\n", a, b, a / b, same }'

# What it holds, by names as the kernel shortens them.
loaded() { # PID
    sed -n 's/^prog_id:[[:space:]]*/prog /p; s/^map_id:[[:space:]]*/map /p' "/proc/$1/fdinfo/"* 2>/dev/null | sort -u |
        while read -r kind id; do bpftool -j "$kind" show id "$id" | jq -r '.name'; done | cut -c1-15 | sort -u
}
"$XPROF" record -e cpu -a --no-cache -d 5s -o "$TMP/x.pb.gz" 2>/dev/null &
recorder=$!
at_exit "kill $recorder 2>/dev/null"
await holds_program xp_event_0 $recorder
sleep 1
loaded $recorder >"$TMP/loaded"
wait $recorder
bpftool gen skeleton "$TMP/alone.o" name xprof_bpf | sed -nE 's/.*name = "([^"]*)";/\1/p' | cut -c1-15 | sort -u >"$TMP/known"
echo 'shard' >>"$TMP/known" # user space makes these, of the object's shard0
others=$(sort "$TMP/known" | comm -23 "$TMP/loaded" - | grep -vc '^xprof_bp\.' || true)
echo "before loaded, $others of $(wc -l <"$TMP/loaded") programs and maps from elsewhere, 0, -, 0," \
    "$([ "$others" = 0 ] && echo pass || echo fail)"

[ -x "${BEFORE:-}" ] || exit 0

build_target deep -g -O1
"$TMP/deep" 20 600000 >/dev/null 2>&1 &
target=$!
at_exit "kill $target"

one() { # NAME BINARY
    "$2" record -v -e cpu -F 999 -d 4s --no-cache -p $target -o "$TMP/x.collapsed" --summary "$TMP/x.json" 2>"$TMP/x.err"
    sed -n 's/.*eBPF xp_event_0: \([0-9]*\) instructions verified.*/\1/p' "$TMP/x.err" >"$TMP/$1.verified"
    jq .map_bytes "$TMP/x.json" >"$TMP/$1.maps"
    jq .bpf_ns_per_sample "$TMP/x.json" >>"$TMP/$1.ns"
}
for ((i = 0; i < ROUNDS; i++)); do
    one before "$BEFORE"
    one now "$XPROF"
done
compare() { # NAME FILE UNIT GOAL
    awk -v name="$1" -v unit="$3" -v goal="$4" '
        FNR == NR { now = !now || $1 < now ? $1 : now; next } { before = !before || $1 < before ? $1 : before }
        END {
            a = now; b = before
            verdict = goal == "-" ? "-" : a / b <= 1.02 ? "pass" : "fail"
            printf "before %s, %d %s, %d %s, %.4f, %s, %s\n", name, a, unit, b, unit, a / b, goal, verdict
        }' "$TMP/now.$2" "$TMP/before.$2"
}
compare "verified" verified instructions "<= 1.02x"
compare "maps" maps bytes "<= 1.02x"
compare "sample" ns ns "<= 1.02x"
