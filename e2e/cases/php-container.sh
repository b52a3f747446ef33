#!/bin/bash
# An agent shows PHP in containers, as another user, below a root that is read-only, within two intervals: of a process that
# runs when the agent starts, and of one that starts later and has workers, which are forked all the time.
set -euo pipefail
. e2e/lib.sh
need_root
need go unshare setpriv php
. e2e/agent/lib.sh

[ -x /usr/bin/php ] || skip "there is no /usr/bin/php"
php -r 'exit((int)!function_exists("pcntl_fork"));' || skip "this PHP cannot fork"
INTERVAL=2s
cat >"$TMP/app.php" <<'END'
<?php
function leaf($seconds)
{
    $end = hrtime(true) + $seconds * 1e9;
    while (hrtime(true) < $end)
        array_sum(range(1, 100));
}

function serve()
{
    leaf((float)$GLOBALS['argv'][1]);
}

function main()
{
    if (($GLOBALS['argv'][2] ?? '') != 'fork')
        return serve();
    while (true) {
        $pid = pcntl_fork();
        if (!$pid) {
            serve();
            exit;
        }
        pcntl_waitpid($pid, $status);
    }
}

main();
END

# In namespaces of its own: the program is where only it sees it. What it can write to is nothing.
cat >"$TMP/inside.sh" <<'END'
set -eu
own=/mnt
mount -t tmpfs tmpfs $own
cp "$1/app.php" $own
mount -o remount,bind,ro $own
mount -o remount,bind,ro /
! touch /tmp/written 2>/dev/null
exec setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs /usr/bin/php $own/app.php "${@:2}"
END

start_inside ab "php*" "$TMP/inside.sh" "$TMP" 600
start_agent --host-processes off --rate 199 --max-rate 199 --max-cpu 100
start_inside cd "php*" "$TMP/inside.sh" "$TMP" 2 fork
sleep 8 # PHP has many libraries, whose tables are built first: those samples are to be few of all
expect_inside host/abababababab 'before the agent' serve 85
expect_inside host/cdcdcdcdcdcd 'after the agent, in workers' serve 80
[ "$(metric xprof_runtime_processes)" -ge 2 ] || fail "the agent knows $(metric xprof_runtime_processes) processes with a runtime"
is "$(metric xprof_runtime_frames_total 'outcome="ok"')" '>' 3 || fail "no frames are counted"
end_agent
if grep -i php "$errors"; then fail "the agent has to say something about PHP"; fi
