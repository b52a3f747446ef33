#!/bin/bash
# An agent shows Perl in containers, as another user, below a root that is read-only, within two intervals: of a process
# that runs when the agent starts, and of one that starts later and has workers, which are forked all the time.
set -euo pipefail
. e2e/lib.sh
need_root
need go unshare setpriv
. e2e/agent/lib.sh

[ -x /usr/bin/perl ] || skip "there is no /usr/bin/perl"
INTERVAL=2s
cat >"$TMP/app.pl" <<'END_OF_APP'
use strict;
use Time::HiRes qw(time);

sub leaf {
    my ($end, $n) = (time() + $_[0], 0);
    while (time() < $end) {
        for my $i (1 .. 100) { $n += $i }
    }
}

sub serve { leaf($ARGV[0]) }

sub main {
    return serve() if ($ARGV[1] // "") ne "fork";
    while (1) {
        my $pid = fork();
        if (!$pid) { serve(); exit }
        waitpid($pid, 0);
    }
}

main();
END_OF_APP

# In namespaces of its own: the program is where only it sees it. What it can write to is nothing.
cat >"$TMP/inside.sh" <<'END'
set -eu
own=/mnt
mount -t tmpfs tmpfs $own
cp "$1/app.pl" $own
mount -o remount,bind,ro $own
mount -o remount,bind,ro /
! touch /tmp/written 2>/dev/null
exec setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs /usr/bin/perl $own/app.pl "${@:2}"
END

start_inside ab perl "$TMP/inside.sh" "$TMP" 600
start_agent --host-processes off --rate 199 --max-rate 199 --max-cpu 100
start_inside cd perl "$TMP/inside.sh" "$TMP" 2 fork
expect_inside host/abababababab 'before the agent' main::serve 90
expect_inside host/cdcdcdcdcdcd 'after the agent, in workers' main::serve 80
[ "$(metric xprof_runtime_processes)" -ge 2 ] || fail "the agent knows $(metric xprof_runtime_processes) processes with a runtime"
is "$(metric xprof_runtime_frames_total 'outcome="ok"')" '>' 3 || fail "no frames are counted"
end_agent
if grep -i perl "$errors"; then fail "the agent has to say something about Perl"; fi
