#!/bin/bash
# Stacks lead out of a Go shared object into the C program that called it.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need go

(cd e2e/targets/goshared && CGO_ENABLED=1 GOTOOLCHAIN=local GOFLAGS=-buildvcs=false \
    go build -buildmode=c-shared -ldflags "-s -w" -o "$TMP/lib.so" .) || skip "go cannot build a shared object"
gcc -O2 -o "$TMP/host" e2e/targets/goshared/host.c -ldl
record -- "$TMP/host" "$TMP/lib.so" 1.5
expect_samples 300
expect_complete 98.5
expect_stack '_start;(.*;)?main;Work;crosscall2;(.*;)?main\.Work;main\.grown;.*' "$profile" 50
expect_stack 'runtime\.goexit;main\.Work\.func1;main\.grown;.*' "$profile" 20
