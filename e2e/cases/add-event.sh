#!/bin/bash
# One row adds a kind of event (CONTRIBUTING.md): in a copy of the tree, `minor-faults` gets its row and nothing else.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need go make gcc clang

mkdir "$TMP/tree"
cp -a Makefile VERSION agent bpf "$TMP/tree"
cp -a "$(dirname "$XPROF")" "$TMP/tree/build" # what is built already; times are kept
awk '/\.name = "context-switches"/ && !done {
        sub(/.*/, "")
        print "        .name = \"minor-faults\", .aliases = {\"minor\"}, .probe = {SOFTWARE(PAGE_FAULTS_MIN)},"
        print "        .unit = \"count\", .type = \"minor_faults\", .series = \"minor_faults\", .default_hz = 99,"
        print "        .cost = EVENT_COST_LOW, .needs = \"\", .help = \"page faults without a read\","
        print "    },"
        print "    {"
        print "        .name = \"context-switches\","
        done = 1; next }
     { print }' agent/events/events.c >"$TMP/tree/agent/events/events.c"
make -s -C "$TMP/tree" all >"$TMP/make" 2>&1 || fail "it does not build: $(tail "$TMP/make")"
grep -q minor-faults <("$XPROF" list) && fail "the event is there without its row"
XPROF=$TMP/tree/build/xprof

grep -E '^minor-faults +' <("$XPROF" list) || fail "xprof list does not show it"
grep -q minor-faults <("$XPROF" record --help; "$XPROF" agent --help) || fail "--help does not name it"
expect_exit 2 'record: --event: unknown value "major-faults"' "$XPROF" record -e major-faults -- true

# By its alias, beside another event, with whole stacks and pprof's type.
build_target events
record -e minor,cpu -o "$TMP/x.pb.gz" -- "$TMP/events"
expect .samples '>' 0
expect_complete 99
GOTOOLCHAIN=local PPROF_BINARY_PATH=$TMP go tool pprof -symbolize=none -sample_index=minor_faults -top "$TMP/x.pb.gz" \
    >"$TMP/top" 2>&1 || fail "$(cat "$TMP/top")"
grep -E 'Type: minor_faults' "$TMP/top" || fail "the profile has no such type"
