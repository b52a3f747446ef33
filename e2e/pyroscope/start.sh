#!/bin/bash
# Starts a Pyroscope on loopback and waits until it is ready:   e2e/pyroscope/start.sh v1|v2 DIR PORT [FLAG...]
# v1, v2: the kind of its storage. Its data and log are below DIR, its PID is in DIR/pid; to be ended by that.
# Takes PORT (HTTP), PORT + 1 (gRPC), PORT + 2 (raft), PORT + 3 (gossip).
set -euo pipefail

storage=$1 dir=$2 port=$3
shift 3
binary=$(bash "$(dirname "${BASH_SOURCE[0]}")/get.sh" --find)
lo=127.0.0.1
mkdir -p "$dir"

# Each ring would dial the host's own address; and what waits for a cluster, or calls home, is not wanted.
flags=(-target=all -config.show_banner=false -log.level=warn
    -server.http-listen-address="$lo" -server.http-listen-port="$port"
    -server.grpc-listen-address="$lo" -server.grpc-listen-port="$((port + 1))"
    -memberlist.bind-addr="$lo" -memberlist.advertise-addr="$lo" -memberlist.bind-port="$((port + 3))"
    -compactor.ring.instance-addr="$lo" -distributor.ring.instance-addr="$lo" -ingester.lifecycler.addr="$lo"
    -overrides-exporter.ring.instance-addr="$lo" -query-frontend.instance-addr="$lo"
    -query-scheduler.ring.instance-addr="$lo" -store-gateway.sharding-ring.instance-addr="$lo"
    -ingester.min-ready-duration=0s
    -usage-stats.enabled=false -self-profiling.disable-push=true -tracing.enabled=false
    -storage.backend=filesystem -storage.filesystem.dir="$dir/shared" -pyroscopedb.data-path="$dir/db"
    -compactor.data-dir="$dir/compactor" -blocks-storage.bucket-store.sync-dir="$dir/sync")
if [ "$storage" = v2 ]; then
    export PYROSCOPE_V2=1
    flags+=(-write-path=segment-writer -enable-query-backend=true
        -all.enable-v1-write-path=false -all.enable-v1-read-path=false
        -segment-writer.lifecycler.addr="$lo" -segment-writer.min-ready-duration=0s -metastore.min-ready-duration=0s
        -metastore.address="$lo:$((port + 1))" -query-backend.address="$lo:$((port + 1))"
        -metastore.data-dir="$dir/metastore" -metastore.raft.dir="$dir/raft"
        -metastore.raft.snapshots-dir="$dir/raft" -metastore.raft.bind-address="$lo:$((port + 2))"
        -metastore.raft.advertise-address="$lo:$((port + 2))" -metastore.raft.server-id="$lo:$((port + 2))")
fi
cd "$dir"
"$binary" "${flags[@]}" "$@" >log 2>&1 </dev/null &
echo $! >pid
for ((i = 0; i < 600; i++)); do
    [ "$(curl -s -o /dev/null -w '%{http_code}' "http://$lo:$port/ready")" != 200 ] || exit 0
    kill -0 "$(cat pid)" 2>/dev/null || break
    sleep 0.1
done
tail -n 5 log >&2
exit 1
