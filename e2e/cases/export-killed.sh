#!/bin/bash
# kill -9 loses nothing that was acknowledged: whatever put said 0 for is in the directory after the next start.
# beside others
set -euo pipefail
. e2e/lib.sh
. e2e/pyroscope/lib.sh

record_profile
gone=0
for ((round = 0; round < 8; round++)); do
    rm -f "$TMP/sent"
    start_sender -s "$TMP/spool" "dir:main:path=$TMP/out"
    say put "$TMP/x.pb.gz" 100000 namespace=market pod=r$round-% container=app
    await grep -q '^put 200 0$' "$TMP/sent"
    sleep 0.0$((RANDOM % 10))
    kill -KILL "$sender"
    wait "$sender" 2>/dev/null || true
    exec 8>&-
    sed -n 's/^put \([0-9]*\) 0$/r'$round'-\1/p' "$TMP/sent" >>"$TMP/acknowledged"
done
rm "$TMP/sent"
start_sender -s "$TMP/spool" "dir:main:path=$TMP/out"
await_stat 0 '.pending == 0'
expect_stat 0 '.dropped|tojson' '{}'
end_sender
while read -r pod; do
    files=("$TMP/out/market/$pod/app/"*.pb.gz)
    [ -s "${files[0]}" ] || gone=$((gone + 1))
done <"$TMP/acknowledged"
[ $gone = 0 ] || fail "$gone of $(wc -l <"$TMP/acknowledged") acknowledged profiles are gone"
extra=$(($(find "$TMP/out" -name '*.pb.gz' | wc -l) - $(wc -l <"$TMP/acknowledged")))
[ $extra -le 8 ] || fail "$extra files more than were acknowledged in 8 rounds: profiles were written twice"
echo "$(wc -l <"$TMP/acknowledged") acknowledged profiles, 8 kills, none lost"
