#!/bin/bash
# A second agent on the machine says so and ends; so does one that wants another's spool.
set -euo pipefail
. e2e/lib.sh
need_root
. e2e/agent/lib.sh

start_agent --exclusive=on
expect_exit 1 'another xprof agent runs on this machine' "$XPROF" agent --output-dir "$TMP/b" --state-dir "$TMP/b" --listen off
expect_exit 1 "$state: another agent uses this spool" "$XPROF" agent --output-dir "$TMP/b" --state-dir "$state" \
    --listen off --exclusive=off
end_agent
