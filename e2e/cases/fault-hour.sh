#!/bin/bash
# Pyroscope is away for more than an hour of the agent's clock: what it still takes arrives, oldest first and complete; what
# is older than an hour by then is skipped and counted. The clock is made to pass: it begins in the past and is set on.
set -euo pipefail
. e2e/lib.sh
need_root
need go python3
. e2e/agent/lib.sh
. e2e/faults/sum.sh
. e2e/pyroscope/lib.sh
. e2e/faults/pushed.sh

need_server
start_server v2
start_front
OUT=hotspot build_target layout
gcc -shared -fPIC -O2 -o "$TMP/step.so" e2e/faults/step.c
cat >"$TMP/x.yaml" <<EOF
targets-only: on
targets: [{comm: hotspot}]
exporters:
  - {name: server, type: pyroscope, url: "$front", parallel: 1}
  - {name: files, type: directory, path: "$out"}
EOF
cat >"$TMP/stepped" <<EOF
#!/bin/sh
STEP_FILE=$TMP/step LD_PRELOAD=$TMP/step.so exec "$XPROF" "\$@"
EOF
chmod +x "$TMP/stepped"
clock() { # SECONDS that the agent's clock is off
    echo "$1" >"$TMP/step.new" && mv "$TMP/step.new" "$TMP/step"
}
clock -4200
"$TMP/stepped" agent --config "$TMP/x.yaml" --state-dir "$state" --cache-dir "$TMP/cache" --interval 1s \
    --listen "127.0.0.1:$pages" --exclusive=off --cri-socket none 2>"$errors" &
agent_pid=$!
at_exit "kill -KILL $agent_pid"
await curl -sf "$page/readyz"

# A profile every ten minutes of the agent's clock, from 70 minutes ago until now.
set_mode away
for ((ago = 4200; ago >= 0; ago -= 600)); do
    clock "-$ago"
    run_for 200
done
waiting=$(metric xprof_export_pending_profiles server)
bytes=$(metric xprof_spool_bytes disk)
[ "$waiting" -ge 6 ] || fail "only $waiting profiles wait" # the first may be too old already
set_mode well
soon says 'sum("export_pending_profiles", "") == 0'
old=$(metric xprof_export_dropped_profiles_total 'server.*too-old')
[ "$(metric xprof_export_dropped_profiles_total)" = "$old" ] || fail "profiles are lost"

# The folder's files carry their times; those of 70 and 60 minutes ago are too old by now.
now=$(date +%s) lost=0 kept=0
mkdir "$TMP/kept"
for f in "$out"/host/hotspot/*.pb.gz; do
    stamp=$(basename "$f" | sed -E 's/^cpu-(....)(..)(..)T(..)(..)(..).*/\1-\2-\3T\4:\5:\6Z/')
    if [ $((now - $(date -d "$stamp" +%s))) -gt 3590 ]; then lost=$((lost + 1)); else
        kept=$((kept + 1))
        cp "$f" "$TMP/kept"
    fi
done
[ "$old" = "$lost" ] || fail "$old profiles were too old, not $lost"
[ "$lost" -ge 2 ] || fail "only $lost are too old"
soon same hotspot "$(out=$TMP nanoseconds_in kept)"
awk '$1 == 200 { if ($2 < last) exit 1; last = $2 }' "$TMP/pushes" || fail "not the oldest first"
echo "$((kept + lost)) profiles of 70 minutes, the server away: $kept arrived, oldest first; $lost older than an hour skipped and counted; 0 lost"
echo "at $((bytes / waiting)) bytes a profile, an hour of 110 pods, every 10 s, is $((bytes * 110 * 360 / waiting >> 20)) MB of the spool's 256"
end_agent
