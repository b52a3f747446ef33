#!/bin/bash
# An agent shows PHP in containers, as another user, below a root that is read-only, within two intervals: of a process that
# runs when the agent starts, and of one that starts later and has workers, which are forked all the time.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need go unshare setpriv php
. e2e/agent/lib.sh
language=php
. e2e/scripts/lib.sh

php -r 'exit((int)!function_exists("pcntl_fork"));' || skip "this PHP cannot fork"
cat >"$TMP/app" <<'END'
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

SETTLE=12 # PHP has many libraries, whose tables are built first: those samples are to be few of all
shows_scripts_inside serve 85 80 /usr/bin/php
