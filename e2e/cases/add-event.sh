#!/bin/bash
# One row adds a kind of event that perf can count, one file and one row another one (CONTRIBUTING.md): in a copy of the
# tree, `minor-faults` gets its row, and `renames` its file and its row, and nothing else.
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
        print "        .values = {{\"minor_faults\", \"count\", NULL}}, .series = \"minor_faults\", .default_hz = 99,"
        print "        .cost = EVENT_COST_LOW, .needs = \"\", .help = \"page faults without a read\","
        print "    },"
        print "    {"
        print "        .name = \"renames\", .probe = {.how = PROBE_KIND, .object = \"renames\"}, .series = \"renames\","
        print "        .values = {{\"letters\", \"count\", \"\"}, {\"renames\", \"count\", \"times\"}}, .main = 1,"
        print "        .cost = EVENT_COST_MEDIUM, .needs = \"\", .help = \"threads that take a name\","
        print "    },"
        print "    {"
        print "        .name = \"context-switches\","
        done = 1; next }
     { print }' agent/events/events.c >"$TMP/tree/agent/events/events.c"
cat >"$TMP/tree/bpf/kinds/renames.bpf.c" <<'EOF'
#include "bpf/kind.bpf.h"

static __always_inline void rename_task(u64 *ctx, struct xp_state *s)
{
    xp_no_amounts(s);
    s->amounts[0].value = 7;
    s->amounts[1].count = s->amounts[1].value = 1;
    xp_count_here(ctx, s, 0);
}
XP_KIND_PROGRAM("tp_btf/task_rename", on_rename, xp_is_wanted(), rename_task)
EOF
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

# The other one counts exactly, and has values of its own.
cat >"$TMP/names.c" <<'EOF'
#include <sys/prctl.h>
__attribute__((noinline)) static int take_name(int i)
{
    char name[] = {'n', (char)('a' + i % 26), 0};
    return prctl(PR_SET_NAME, name) + 1;
}
int main(void)
{
    int n = 0;
    for (int i = 0; i < 1234; i++)
        n += take_name(i);
    return n != 1234;
}
EOF
gcc -O1 -g -o "$TMP/names" "$TMP/names.c"
record -e renames,cpu -o "$TMP/y.pb.gz" -- "$TMP/names"
go tool pprof -symbolize=none -raw "$TMP/y.pb.gz" >"$TMP/raw" 2>&1 || fail "$(cat "$TMP/raw")"
grep -qx 'samples/count letters/count times/count renames/count cpu/nanoseconds' \
    <(grep -A1 '^Samples:' "$TMP/raw" | tail -1 | sed 's/\[dflt\]//; s/ *$//') || fail "other types: $(head -12 "$TMP/raw")"
record -e renames -o "$TMP/y.collapsed" -- "$TMP/names"
times=$(awk '/;main;take_name;/ { n += $NF } END { print n + 0 }' "$TMP/y.collapsed")
[ "$times" = 1234 ] || fail "$times of 1234 are under take_name: $(cat "$TMP/y.collapsed")"
