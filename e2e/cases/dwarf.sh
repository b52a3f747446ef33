#!/bin/bash
# Inlined callers and lines of a program with debug information: in the stacks, and for tools that read our profile. A
# second run takes the line index from the disk.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root

build_target inlines -g
place() { grep -n "$1" e2e/targets/inlines.cpp | head -n 1 | cut -d: -f1; } # line of a text

CACHE=$TMP/cache record -o "$TMP/x.pb.gz" -- "$TMP/inlines" 400
expect_stack '.*;main;around\(\);between;innermost' "$profile" 20
indexes() { stat -c '%n %i %s' "$TMP"/cache/*.xpl; }
before=$(indexes) || fail "no line index on the disk"

CACHE=$TMP/cache record -- "$TMP/inlines" 200
[ -z "$(comm -23 <(echo "$before" | sort) <(indexes | sort))" ] || fail "an index was made again" # there may be more
expect_stack '.*;main;around\(\);between;innermost' "$profile" 10

# Damaged on the disk: made again, and the names are the same.
for f in "$TMP"/cache/*.xpl; do printf 'XXXX' | dd of="$f" bs=1 seek=200 conv=notrunc status=none; done
CACHE=$TMP/cache record -- "$TMP/inlines" 200
expect_stack '.*;main;around\(\);between;innermost' "$profile" 10

# Line tables alone will do.
has_chain() {
    expect_stack '.*;main;around\(\);between;innermost' "$profile" 10
}
build_target inlines -g1
record_both has_chain -- "$TMP/inlines" 200

command -v go >/dev/null || exit 0
go tool pprof -symbolize=none -lines -traces "$TMP/x.pb.gz" >"$TMP/traces" 2>/dev/null
for f in "innermost.*inlines.cpp:$(place 'sink \* 31')" "between.*inlines.cpp:$(place 'innermost();')" \
    "around.*inlines.cpp:$(place 'between();')"; do
    grep -q "$f" "$TMP/traces" || fail "go tool pprof shows no $f"
done
go tool pprof -symbolize=none -list around "$TMP/x.pb.gz" >"$TMP/list" 2>/dev/null
grep -q "$(place 'between();'): *between();" "$TMP/list" || fail "go tool pprof -list shows no source"
go tool pprof -symbolize=none -raw "$TMP/x.pb.gz" 2>/dev/null >"$TMP/raw"
grep -qF '[FN][FL][LN][IN]' <(grep "$TMP/inlines" "$TMP/raw") || fail "the mapping does not say what it has"
