#!/bin/bash
# Java: waits have the methods that wait, also of a thread that slept before the recording began; locks of the library are
# known by their methods, and waits for monitors show who enters.
set -euo pipefail
. e2e/lib.sh
. e2e/java/lib.sh
need_root
need bpftool jq

build_java Waits

# record() of a Java program that is attached to while its first thread is parked.
attached() { # JAVA EVENT [FLAG...]
    local java=$1 event=$2 pid
    shift 2
    [ -p "$TMP/gate" ] || mkfifo "$TMP/gate"
    rm -f "$TMP/out"
    "$java" "$@" -cp "$TMP" Waits <"$TMP/gate" >"$TMP/out" 2>&1 &
    pid=$!
    exec 3>"$TMP/gate"
    at_exit "kill -KILL $pid"
    await grep -q ready "$TMP/out"
    record -e "$event" -p $pid &
    recorder=$!
    at_exit "kill \$(pgrep -P $recorder) 2>/dev/null"
    await follows_waits
    echo >&3
    exec 3>&-
    wait "$recorder" || fail "the recording ended with $?"
}

seconds() { # REGEX LEAST MOST: of waits in such stacks, their root first
    local ns
    ns=$(awk -v regex="$1" '$0 ~ ";" regex "[; ]" { n += $NF } END { printf "%.0f", n }' "$profile")
    echo "$version $flags: $1: $((ns / 1000000)) ms"
    is "$ns" '>=' "$2 * 1e9" || fail "$1: $ns ns, not $2 s"
    is "$ns" '<=' "$3 * 1e9" || fail "$1: $ns ns, more than $3 s"
}

park='java.util.concurrent.locks.LockSupport.park'
for_each_java 17 25
for java in "${javas[@]}"; do
    version=$(version_of "$java")
    for flags in -XX:+TieredCompilation -Xint; do
        attached "$java" offcpu $flags
        seconds "java.lang.Thread.run;.*Waits.outerLong;Waits.longPark;$park;.*Unsafe.park;.*" 0.9 9
        seconds "java.lang.Thread.run;.*Waits.outerShort;Waits.shortPark;${park}Nanos;.*Unsafe.park;.*" 0.5 1.3
        seconds 'Waits.outerMonitor;Waits.enterMonitor;.*ObjectMonitor::enter.*' 0.05 3
        seconds '.*\[(java|java: gone|anonymous)\].*' 0 0.02 # of classes that the library makes for a moment
    done
    flags="default flags"
    attached "$java" lock
    seconds 'Waits.outerMonitor;Waits.enterMonitor;.*\[lock: Java monitor\]' 0.05 3
    seconds 'Waits.outerLock;Waits.enterLock;.*\[lock: Java lock\]' 0.05 3
    if grep 'Waits.outerLong' "$profile" >"$TMP/part"; then fail "parking is no lock: $(head -n 1 "$TMP/part")"; fi
done
