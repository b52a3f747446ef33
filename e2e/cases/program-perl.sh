#!/bin/bash
# A real program: the Perl interpreter, with the frames of its script in place of its loop.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root

need perl
CACHE=$TMP/cache
record -- perl -e 1 2>/dev/null # so that unwind tables are there
# shellcheck disable=SC2016
record -- perl -e '
my %h;
for my $round (1 .. 30) {
    $h{$_ % 1000} .= "abc$_" for 1 .. 50000;
    my $n = 0;
    for (sort { $a <=> $b } keys %h) { $n++ while $h{$_} =~ /b?c\d(\d+)a/g }
    %h = ();
}'
expect_samples 150
expect_complete 99
expect_share 90 '_start;(.*;)?main;perl_run;(S_run_body;)?[(]main[)]' '([(]main[)]|Perl_runops_standard);?.*'
expect_stack '[(]main[)];Perl_pp_[^;]*' "$profile" 100
