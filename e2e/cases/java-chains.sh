#!/bin/bash
# Java: known chains of calls have exactly their frames and lines, compiled, inlined, interpreted, launched and attached to,
# with default flags of the virtual machine and others.
#
# Of code that is inlined, HotSpot knows every place with DebugNonSafepoints only; without that, a stack may lack its leaf.
set -euo pipefail
. e2e/lib.sh
. e2e/java/lib.sh
. e2e/pprof.sh
need_root
need python3

build_java Chains
RELEASE=8 OUT=$TMP/8 build_java Chains

check() { # WHAT OPTION...
    echo -n "$1: "
    python3 e2e/java/chains.py "$TMP/x.pb.gz" "$TMP/own" "${@:2}" || fail "$1: the chains are not as the program has them"
    expect '.lost["ring-full"] + .lost.scratch + .lost["stack-memory"] + .lost.malformed' == 0
}

classes_for() { # VERSION
    if [ "$1" = 8 ]; then echo "$TMP/8"; else echo "$TMP"; fi
}

launched() { # JAVA ARGUMENTS [FLAG...]
    # shellcheck disable=SC2086
    record -o "$TMP/x.pb.gz" -- "$1" "${@:3}" -cp "$(classes_for "$version")" Chains $2 >"$TMP/own"
    check "$version ${*:3} launched"
}

# It runs for a while already; its first chains are missed.
attached() { # JAVA ARGUMENTS [FLAG...]
    : >"$TMP/own" # what an earlier one said is gone before this one begins
    # shellcheck disable=SC2086
    "$1" "${@:3}" -cp "$(classes_for "$version")" Chains $2 >"$TMP/own" &
    local java=$!
    at_exit "kill -KILL $java"
    await grep -q c00 "$TMP/own"
    record_in_background -o "$TMP/x.pb.gz" -p $java
    local missed
    missed=$(($(wc -l <"$TMP/own") + 1)) # this one may have begun already
    wait "$recorder"
    check "$version ${*:3} attached" --missed "$missed" --coarse
}

# The label `runtime` of the last profile, most of whose samples are of one kind of code, and none of others.
code() { # KIND KIND-THAT-IS-NOT-THERE...
    local sums part
    sums=$(sums_by_label "$TMP/x.pb.gz" runtime samples cpu)
    part=$(awk -v kind="$1" '{ all += $1; if ($3 == kind) part = $1 } END { printf "%d", 100 * part / all }' <<<"$sums")
    [ "$part" -ge 50 ] || fail "$part % of the samples are of code of the kind $1: $sums"
    for kind in "${@:2}"; do
        ! grep -q " $kind\$" <<<"$sums" || fail "there is code of the kind $kind: $sums"
    done
}

begin() { # JAVA
    version=$(version_of "$1")
    record -- "$1" -version 2>/dev/null # so that the unwind tables of its libraries are there
    launched "$1" 40
}

CACHE=$TMP/cache
for_each_java 17 25
for java in "${javas[@]}"; do
    begin "$java"
    launched "$java" '80 c 20' -XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints
    attached "$java" '60 c 20'
    launched "$java" 40 -Xint
    code interpreted c1 c2 inlined
    launched "$java" '40 c 20' -XX:TieredStopAtLevel=1
    code c1 c2
    launched "$java" '80 c0' -Xcomp
    flags=(-XX:+UseShenandoahGC -XX:ShenandoahGCMode=generational)
    if "$java" "${flags[@]}" -version >/dev/null 2>&1; then launched "$java" '40 c1' "${flags[@]}"; fi
done

javas=()
add_debian_javas 8 26
for java in "${javas[@]}"; do
    begin "$java"
    attached "$java" '60 c 20'
    if [ "$version" = 8 ]; then
        launched "$java" '40 c' -Xint
        code interpreted c1 c2 inlined
        launched "$java" '60 c1' -XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints -XX:+UseConcMarkSweepGC
    fi
done
