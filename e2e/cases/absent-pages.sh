#!/bin/bash
# Stacks that are unwound from a copy, because a table was missing, are whole though most of their pages were not in memory:
# those of a large array, to which nothing was written yet.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need jq

build_target arrays
OUT=work.so build_target arrays -DLIBRARY -shared -fPIC
record -- "$TMP/arrays" "$TMP/work.so" 100
expect_samples 50
expect .late '>=' 1
expect_complete 99
expect_share 90 '(.*;)?start_thread;outer;inner;work;burn' '.*'
