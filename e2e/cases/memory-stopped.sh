#!/bin/bash
# Processes that a recording stops until it has attached to them go on: under sudo, when the groups of its user are looked
# up; when two events stop them; and when the recording is killed, which leaves no helper behind, however many processes
# it was attached to.
set -euo pipefail
. e2e/lib.sh
need_root
need_kernel 6.6 "uprobe_multi links"

[ "$(SUDO_UID=65534 SUDO_GID=65534 timeout 60 "$XPROF" record --no-cache -e memory -o "$TMP/x.pb.gz" -- id -u 2>"$errors")" = 65534 ] ||
    fail "a command does not run as the user of sudo"

# Programs one after the other: nearly always, one of them is stopped.
cp /bin/true "$TMP/step"
cat >"$TMP/loop" <<END
#!/bin/bash
trap '' TERM
touch $TMP/began
for ((i = 0; i < \$1; i++)); do
    $TMP/step
done
echo "\$i" >$TMP/done
END
chmod +x "$TMP/loop"
for events in memory memory,badfree; do
    rm -f "$TMP/done"
    record -e $events -- "$TMP/loop" 40
    [ "$(cat "$TMP/done")" = 40 ] || fail "-e $events: the command did not come to its end"
done

stopped() { ps -eo stat=,args= | awk -v of="$TMP/" '$1 ~ /^T/ && index($0, of) { print }'; }
any_stopped() { stopped | grep -vq record; }
ended() { [ -e "$TMP/done" ]; }
guards() { pgrep -xc xprof-guard || true; }
for round in 1 2 3; do
    rm -f "$TMP/done" "$TMP/began"
    "$XPROF" record --no-cache -e memory -o "$TMP/x.pb.gz" -- "$TMP/loop" 1000 2>/dev/null &
    xprof=$!
    await [ -e "$TMP/began" ]
    sleep 2
    kill -STOP $xprof # nobody lets go of the next one
    await any_stopped
    kill -KILL $xprof
    killed=$SECONDS
    until [ "$(guards)" = 0 ]; do
        [ $((SECONDS - killed)) -le 5 ] || fail "killed (round $round): $(guards) helpers are there after 5 s"
        sleep 0.1
    done
    await ended || fail "killed (round $round): still there: $(stopped)"
done
