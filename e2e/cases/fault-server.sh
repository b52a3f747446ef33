#!/bin/bash
# The server is away, the agent is killed meanwhile, the spool's disk is full, the time of day jumps: each sample that was
# put is in Pyroscope, once. A folder, which is never away, gets the same profiles and tells what there should be.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need go unshare
. e2e/agent/lib.sh
. e2e/faults/sum.sh
. e2e/pyroscope/lib.sh
. e2e/faults/pushed.sh

need_server
start_server v2
OUT=hotspot build_target layout

cat >"$TMP/x.yaml" <<EOF2
targets-only: on
targets: [{comm: hotspot}]
EOF2

agent() { # STATE_FOLDER OPTION...
    state=$1
    shift
    port=$pages start_agent --config "$TMP/x.yaml" --pyroscope-url "$url" "$@"
}
# So much of the program is in Pyroscope as in the folder, and that is all of it.
expect_all() { # MS: as long as it ran, by its own clock
    files=$(nanoseconds_in host/hotspot)
    soon same hotspot "$files"
    echo "the program ran for $1 ms; in files and in Pyroscope: $((files / 1000000))"
    is "$files / 1e6" '>' "0.9 * $1" || fail "samples are missing"
    is "$files / 1e6" '<' "1.1 * $1 + 100" || fail "samples are there twice"
}

agent "$TMP/spool"
run_for 1000
soon sent
kill -KILL "$server_pid"
run_for 1000
soon says 'sum("export_up", "pyroscope") == 0 && sum("export_pending_profiles", "directory") == 0'
waiting=$(metric xprof_export_pending_profiles pyroscope)
[ "$waiting" -gt 0 ] || fail "nothing waits for the server"
kill -KILL "$agent_pid"
wait "$agent_pid" 2>"$TMP/out" || true
agent "$TMP/spool"
[ "$(metric xprof_export_pending_profiles pyroscope)" -ge "$waiting" ] || fail "the spool forgot profiles"
run_for 1000
start_server v2
soon sent
expect_all 3000
end_agent
echo "$waiting profiles waited for the server when the agent was killed: none is lost"

# A disk that has no room for what waits: memory has.
kill -KILL "$server_pid"
real=$XPROF
mkdir "$TMP/small"
cat >"$TMP/small-disk" <<EOF2
#!/bin/sh
mount -t tmpfs -o size=8k none "$TMP/small" && exec "$real" "\$@"
EOF2
cat >"$TMP/wrapped" <<EOF2
#!/bin/sh
exec unshare -m --propagation private sh "$TMP/small-disk" "\$@"
EOF2
chmod +x "$TMP/wrapped"
XPROF=$TMP/wrapped
agent "$TMP/small/spool" --rate 499
for _ in 1 2 3; do run_for 500; done
soon says 'sum("spool_disk_errors_total", "") > 0 && sum("spool_bytes", "memory") > 0'
start_server v2
soon sent
says 'sum("export_dropped_profiles_total", "") == 0 && sum("spool_refused_total", "") == 0' || fail "profiles were dropped"
expect_all 4500
end_agent
echo "disk full: $(awk '$1 == "xprof_spool_disk_errors_total" { print $2 }' "$TMP/metrics") writes failed, none is lost"

# The time of day is set, an hour forth and two back: nothing is too old or too new for the spool, nothing waits for a time
# that has been.
gcc -shared -fPIC -O2 -o "$TMP/step.so" e2e/faults/step.c
cat >"$TMP/wrapped" <<EOF2
#!/bin/sh
STEP_FILE=$TMP/step LD_PRELOAD=$TMP/step.so exec "$real" "\$@"
EOF2
rm -rf "$out"
state=$TMP/spool3
port=$pages start_agent --config "$TMP/x.yaml"
for step in 0 3600 -3600 0; do
    echo $step >"$TMP/step.new" && mv "$TMP/step.new" "$TMP/step"
    run_for 300
done
soon says 'sum("export_pending_profiles", "") == 0 && sum("export_profiles_total", "") > 0'
says 'sum("export_dropped_profiles_total", "") == 0 && sum("spool_corrupt_total", "") == 0' || fail "profiles were dropped"
files=$(nanoseconds_in host/hotspot)
is "$files / 1e6" '>' 0.9 \* 1200 || fail "only $files ns of 1200 ms are in files"
find "$out/host/hotspot" -name "cpu-$(date -u -d '+1 hour' +%Y%m%dT%H)*" | grep -q . || fail "no time was set"
end_agent
echo "clock: $((files / 1000000)) of 1200 ms are in files"
