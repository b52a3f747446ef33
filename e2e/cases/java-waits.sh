#!/bin/bash
# Java: waits have the methods that wait, also of a thread that slept before the recording began; locks of the library are
# known by their methods, and waits for monitors show who enters.
set -euo pipefail
. e2e/lib.sh
. e2e/java/lib.sh
need_root
need bpftool jq

build_java Waits

attached() { # JAVA EVENT [FLAG...]
    record_waiting "$2" 0 "$1" "${@:3}" -cp "$TMP" Waits
}

seconds() { # REGEX LEAST MOST
    expect_seconds "$version $flags" "$@"
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
