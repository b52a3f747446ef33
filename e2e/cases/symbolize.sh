#!/bin/bash
# What is recorded without names is named later: by the program, if it is still the same build, or by its debug file alone.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need objcopy go

OUT=prog build_target inlines -g -Wl,--build-id=sha1
id=$(readelf -n "$TMP/prog" | sed -n 's/.*Build ID: //p')
raw=$TMP/raw.pb.gz
"$XPROF" record --no-cache --raw -F 997 -o "$raw" -- "$TMP/prog" 500 2>"$errors"
grep -qxF "wrote $raw" "$errors" || fail "$raw is not mentioned"
go tool pprof -symbolize=none -raw "$raw" 2>/dev/null >"$TMP/raw"
if grep -q 'innermost' "$TMP/raw"; then fail "a raw recording has names"; fi
grep -q "$TMP/prog $id" "$TMP/raw" || fail "the program is not told by its build ID: $(tail -n 5 "$TMP/raw")"

chain='.*;main;around.*;between;innermost'
symbolize() { # OPTION...
    rm -f "$profile" "$TMP/named.pb.gz"
    "$XPROF" symbolize --cache-dir "$TMP/cache" "$raw" -o "$profile" -o "$TMP/named.pb.gz" "$@" 2>"$errors"
}
unnamed() { # that it is said why
    if grep -q innermost "$profile"; then fail "named by $1"; fi
    grep -q "frames of $TMP/prog stay without names.*$id" "$errors" || fail "nothing is said of $1"
    grep -q '\[prog+0x' "$profile" || fail "the frames are gone"
}

symbolize || fail "xprof symbolize"
for output in "$profile" "$TMP/named.pb.gz"; do
    grep -qxF "wrote $output" "$errors" || fail "$output is not mentioned"
done
expect_stack "$chain" "$profile" 100
go tool pprof -symbolize=none -lines -top "$TMP/named.pb.gz" 2>/dev/null >"$TMP/top"
grep -qE 'innermost .*inlines.cpp:[0-9]+' "$TMP/top" || fail "no lines: $(cat "$TMP/top")"

mkdir -p "$TMP/debug/.build-id/${id:0:2}"
place=$TMP/debug/.build-id/${id:0:2}/${id:2}.debug
objcopy --only-keep-debug "$TMP/prog" "$TMP/kept"
OUT=prog build_target inlines -g -O1 -Wl,--build-id=sha1 # another build, in its place
symbolize
unnamed "another build"
rm "$TMP/prog"
symbolize
unnamed "nothing"
objcopy --only-keep-debug "$XPROF" "$place"
symbolize --debug-dir "$TMP/debug"
unnamed "a debug file of another build"
cp "$TMP/kept" "$place"
symbolize --debug-dir "$TMP/debug"
expect_stack "$chain" "$profile" 100

refused() { # STATUS TEXT COMMAND...
    local status=$1 text=$2 rc=0
    shift 2
    "$XPROF" "$@" >"$TMP/out" 2>"$errors" || rc=$?
    if [ $rc != "$status" ] || [ "$(wc -l <"$errors")" != 1 ] || ! grep -q "$text" "$errors"; then
        fail "$*: $rc, $(cat "$errors")"
    fi
}
refused 2 'no recording given' symbolize
refused 2 'no output given' symbolize "$raw"
refused 1 'No such file' symbolize /nowhere -o "$TMP/x.html"
refused 1 'not a profile' symbolize e2e/lib.sh -o "$TMP/x.html"
refused 2 'only pprof' record --raw -o "$TMP/x.html" -- true
refused 2 'no names to list' record --raw -- true
