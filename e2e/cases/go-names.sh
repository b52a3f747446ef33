#!/bin/bash
# A stripped Go program has functions, inlined callers and lines: in every format, and in go tool pprof.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need go

source=$PWD/e2e/targets/gonames.go
build() { # FLAG...
    CGO_ENABLED=0 GOTOOLCHAIN=local go build -ldflags "-s -w" -o "$TMP/gonames" "$@" "$source"
}

# Loaded anywhere.
build -buildmode=pie
has_names() {
    expect_stack '(.*;)?main\.work;main\.twice;main\.leaf' "$profile" 10
    expect_no_stack '(.*;)?\[gonames\+0x.*'
}
HZ=499 record_both has_names -- "$TMP/gonames"

build
HZ=499 record -o "$TMP/x.pb.gz" -- "$TMP/gonames"
expect_samples 150

# Root first; twice and leaf exist only inlined.
expect_stack '(.*;)?main\.work;main\.twice;main\.leaf' "$profile" 10
expect_stack '(.*;)?main\.\(\*counter\)\.spin' "$profile" 10
expect_stack '(.*;)?main\.sum\[\.\.\.\]' "$profile" 10
expect_no_stack '(.*;)?\[gonames\+0x.*'

lines=$(go tool pprof -lines -top -nodecount=500 "$TMP/x.pb.gz" 2>/dev/null)
at() { # TEXT: the line of the source that has it
    grep -n "$1" "$source" | head -n 1 | cut -d: -f1
}
has() { # FUNCTION SOURCE_LINE
    grep -qF "$1 $source:$2" <<<"$lines" || { echo "$lines" && fail "go tool pprof does not show $1 at line $2"; }
}
has 'main.(*counter).spin' "$(at 'the hot line')"
has 'main.work' "$(at 'the call that is inlined')"
has 'main.twice' "$(at '^func twice')"
has 'main.leaf' "$(at '^func leaf')"
go tool pprof -list 'main.work' "$TMP/x.pb.gz" 2>/dev/null | grep -q 'the call that is inlined' ||
    fail "go tool pprof lists no source"
echo "$(samples_of '.*main\.work;main\.twice;main\.leaf') samples of $(value .samples) are in inlined calls"
