#!/bin/bash
# Libraries that take turns at one address, in a process that maps and unmaps memory all the time: each frame is of the
# one that is there, and mappings of code that stay are not looked up again and again.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root

# As long as each other, with frames of different sizes: the rows of one are wrong for the other.
OUT=libfirst.so build_target layout -shared -fPIC -DPREFIX=first_ -fomit-frame-pointer
OUT=libsecond.so build_target layout -shared -fPIC -DPREFIX=second_ -O0 -fomit-frame-pointer
size=$(stat -c %s "$TMP/libfirst.so" "$TMP/libsecond.so" | sort -n | tail -n 1)
truncate -s "$size" "$TMP/libfirst.so"
sleep 0.05 # their sizes and times of change together tell them apart where device numbers do not
truncate -s "$size" "$TMP/libsecond.so"
touch "$TMP/libsecond.so"
build_target plugins
record -- "$TMP/plugins" "$TMP/libfirst.so" "$TMP/libsecond.so" >"$TMP/same"
[ "$(cat "$TMP/same")" -ge 100 ] || fail "the libraries were at one address $(cat "$TMP/same") times of 200 only"
expect_samples 2500
expect_complete 98
expect_share 100 '.*in_first;churn_and;first_outer;first_middle;first_inner;burn' '.*;first_outer;.*'
expect_share 100 '.*in_second;churn_and;second_outer;second_middle;second_inner;burn' '.*;second_outer;.*'
expect_share 97 '.*;(first|second)_outer;.*' '.*in_(first|second);churn_and;.*'
