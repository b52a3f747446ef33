#!/bin/bash
# A real program: xz, with threads.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root

need xz
cat /usr/bin/* 2>/dev/null | head -c 8000000 >"$TMP/data" || true
record -- xz -3 -T 2 --block-size=1MiB -k "$TMP/data"
expect_samples 300
expect_complete 99
expect_stack '(lzma_[a-z0-9_]+|\[liblzma[^;]*)(;.*)?' "$profile" 400
record -- xz -t "$TMP/data.xz"
expect_complete 99
expect_stack 'xz;(.*;)?__libc_start_main;(.*;)?lzma_code(;.*)?' "$profile" 50
