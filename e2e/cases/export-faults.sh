#!/bin/bash
# Servers that drip, say nothing, never end, explode, break off or are something else: no profile is lost, none is taken
# for sent, memory stays bounded, and the sender can still be ended.
# beside others
set -euo pipefail
. e2e/lib.sh
. e2e/pyroscope/lib.sh

need python3
record_profile
free_ports
echo slow >"$TMP/mode"
python3 $here/faults.py "$port" "$TMP/mode" "$TMP/log" 8>&- &
at_exit "kill $!"
await bash -c "exec 3<>/dev/tcp/127.0.0.1/$port"

n=0
for mode in slow silent headers body bomb cut garbage page; do
    echo $mode >"$TMP/mode"
    rm -f "$TMP/sent"
    start_sender -s "$TMP/spool" "pyroscope:main:url=http://127.0.0.1:$port;timeout=500"
    say put "$TMP/x.pb.gz" 3 __name__=process_cpu service_name=shop "pod=pod-$n%"
    await grep -q "^$mode " "$TMP/log"
    n=$((n + 3))
    await_stat 0 ".retried > 0 and .sent == 0 and .pending == $n"
    rss=$(awk '/VmHWM/ { print $2 }' "/proc/$sender/status")
    [ "$rss" -lt 40000 ] || fail "$rss KB in memory ($mode)"
    grep -q '^news main: [a-z-]*: ' "$TMP/sent" || fail "it does not say what is wrong ($mode)"
    grep '^news' "$TMP/sent"
    end_sender
done
echo well >"$TMP/mode"
rm "$TMP/sent"
start_sender -s "$TMP/spool" "pyroscope:main:url=http://127.0.0.1:$port;timeout=500"
await_stat 0 ".sent == $n and .pending == 0"
end_sender
