#!/bin/bash
# An agent shows Perl in containers, as another user, below a root that is read-only, within two intervals: of a process
# that runs when the agent starts, and of one that starts later and has workers, which are forked all the time.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need go unshare setpriv
. e2e/agent/lib.sh
language=perl
. e2e/scripts/lib.sh

cat >"$TMP/app" <<'END_OF_APP'
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

shows_scripts_inside main::serve 90 80 /usr/bin/perl
