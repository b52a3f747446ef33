#!/bin/bash
# C++ exceptions: the unwinder of the program, on its way through twenty frames.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root

build_target exceptions
record -- "$TMP/exceptions"
expect_samples 400
expect_complete 97 # the rest is libgcc rewriting its own frame, on the way into the handler
expect_share 99 "_start;(.*;)?main;catcher(\(\))?;(thrower\(int\)( \[clone[^;]*)?;){20}__cxa_throw;_Unwind_RaiseException" \
    '__cxa_throw;_Unwind_RaiseException.*'
expect_stack '_Unwind_RaiseException;.*' "$profile" 200
