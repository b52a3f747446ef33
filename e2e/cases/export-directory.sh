#!/bin/bash
# Profiles as files: by namespace, pod and container, readable by go's pprof, the newest within so many bytes.
# beside others
set -euo pipefail
. e2e/lib.sh
. e2e/pyroscope/lib.sh

record_profile
{
    echo "put $TMP/x.pb.gz 1 namespace=market pod=cart-0 container=app"
    echo "put $TMP/x.pb.gz 1 namespace=../../up pod=a%b/c container=app"
    echo "put $TMP/x.pb.gz 1 unit=nginx.service"
    echo "put $TMP/x.pb.gz 300 namespace=many pod=p%"
    echo "put $TMP/x.pb.gz 1 namespace=market pod=cart-1 container=app"
    echo "flush 20000"
    echo stats
} | "$send" -s "$TMP/spool" "dir:files:path=$TMP/out;bytes=409600" >"$TMP/sent"
expect_stat 0 .sent 304
used=$(du -s --apparent-size -B1 "$TMP/out" | cut -f1)
blocks=$(find "$TMP/out" -type f -printf '%b\n' | awk '{ n += $1 } END { print n * 512 }')
[ "$blocks" -le 409600 ] || fail "$blocks bytes are more than 409600 ($used with folders)"
[ ! -e "$TMP/out/host" ] || fail "the oldest are still there"
for escaped in "$TMP/up" "$TMP/../up"; do
    [ ! -e "$escaped" ] || fail "a name led out of the folder"
done
file=("$TMP/out/market/cart-1/app/cpu-"*.pb.gz)
[ -s "${file[0]}" ] || fail "the newest is not there"
cmp -s <(gzip -dc "${file[0]}") <(gzip -dc "$TMP/x.pb.gz") || fail "it is another profile"
if command -v go >/dev/null; then
    go tool pprof -symbolize=none -top "${file[0]}" 2>/dev/null | grep -q burn || fail "pprof does not read it"
fi
