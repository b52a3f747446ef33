#!/bin/bash
# A real program: the Perl interpreter.
set -euo pipefail
. e2e/lib.sh
need_root

need perl
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
expect_share 98 '_start;(.*;)?main;perl_run;Perl_runops_standard' 'Perl_runops_standard;?.*'
expect_stack 'Perl_runops_standard;Perl_pp_[^;]*' "$profile" 100
