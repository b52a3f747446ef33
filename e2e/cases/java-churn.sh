#!/bin/bash
# Java that makes classes all the time, throws them away, and has their methods compiled, deoptimised and redefined: no
# method lends its name to another one, few are gone before their name is read, and the agent's memory stays as it is.
# JAVA_CHURN_SECONDS is how long each virtual machine runs, each with both kinds of flags: 60 of them give some 100,000
# classes, and as many samples if there is nothing else to do.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need go jar python3
. e2e/agent/lib.sh
. e2e/java/lib.sh

seconds=${JAVA_CHURN_SECONDS:-8}
RELEASE=17 build_java Churn
printf 'Premain-Class: Churn\nCan-Redefine-Classes: true\n' >"$TMP/manifest"
jar cfm "$TMP/churn.jar" "$TMP/manifest" -C "$TMP" Churn.class
INTERVAL=2s

watch_memory() { # of the agent, while a process runs: its most in the second quarter of the time, and in the last one
    local pid=$1 now most='0 0' quarter start=$SECONDS
    while kill -0 "$pid" 2>/dev/null; do
        now=$(memory_of_agent VmRSS)
        quarter=$((4 * (SECONDS - start) / seconds))
        most=$(awk -v q=$quarter -v n="$now" '{ if (q == 1 && n > $1) $1 = n; if (q == 3 && n > $2) $2 = n; print }' <<<"$most")
        sleep 0.2
    done
    echo "$most"
}

churn() { # TWO_HEX_DIGITS JAVA [FLAG...]
    local id before after loaded unloaded java what
    what="$(version_of "$2") ${*:3}"
    id=$(printf "$1%.0s" {1..32})
    make_container "$id"
    (contained "$2" -Xmx64m -XX:ReservedCodeCacheSize=16m -XX:MaxMetaspaceSize=24m "${@:3}" \
        -javaagent:"$TMP/churn.jar" -cp "$TMP" Churn "${seconds}000") >"$TMP/$1" 2>&1 &
    java=$!
    at_exit "kill -KILL $java"
    read -r before after <<<"$(watch_memory $java)"
    wait $java || fail "the program failed: $(tail -n 3 "$TMP/$1")"
    sleep 3
    read -r loaded unloaded < <(tail -n 1 "$TMP/$1")
    echo "$what: $loaded classes loaded, $unloaded unloaded; the agent had $before KiB, then $after KiB"
    is "$unloaded" '>=' "300 * $seconds" || fail "only $unloaded classes were unloaded"
    python3 e2e/java/churn.py 5 1 $((100 * seconds)) "$out/host/${id:0:12}"/*.pb.gz || fail "$what: see above"
    if [ "$seconds" -lt 30 ]; then before=81920; fi # a few intervals are still the beginning
    is "$after" '<=' "1.1 * $before + 2048" || fail "the agent's memory grows: $before KiB, then $after KiB"
}

for_each_java 17 25
start_agent --host-processes off --rate "${JAVA_CHURN_RATE:-999}" --max-rate "${JAVA_CHURN_RATE:-999}" --max-cpu 100
n=0
for java in "${javas[@]}"; do
    flags=('' -XX:CompileThresholdScaling=0.05)
    if [ -z "${JAVA_CHURN_SECONDS:-}" ]; then flags=("${flags[n % 2]}"); fi
    for flag in "${flags[@]}"; do
        churn $((10 + n++)) "$java" ${flag:+"$flag"}
    done
done
end_agent
