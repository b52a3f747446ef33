#!/bin/bash
# Two hundred pipelines of processes that live for a few milliseconds.
set -euo pipefail
. e2e/lib.sh
need_root

# shellcheck disable=SC2016
record -- bash -c 'for i in $(seq 200); do ls /usr/bin | sort | uniq >/dev/null; done'
expect_samples 300
expect_complete 95
for program in ls sort uniq; do
    [ "$(grep -c "^$program;" "$profile")" -gt 5 ] || fail "there are no samples of $program"
done
expect '(.cut["no-memory-map"] + .cut["no-image"]) / .samples' '<' 0.5
expect_no_stack '\[unknown\]'
