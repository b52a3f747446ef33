#!/bin/bash
# What was really sampled: functions, inlined callers, files and lines of every frame of real programs with debug files are
# those of llvm-symbolizer. The C library's is installed for tests; Python's only on some machines; xprof has its own.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need llvm-symbolizer python3 readelf go

debug_file() { # ELF: its installed debug file, if there is one
    local id
    id=$(readelf -n "$1" 2>/dev/null | sed -n 's/.*Build ID: //p')
    [ -n "$id" ] && [ -e "/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug" ] &&
        echo "/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug"
}
libc=$(debug_file "$(ldconfig -p | awk '/libc\.so\.6 .*x86-64/ && !n++ { print $NF }')") || skip "libc6-dbg is not installed"
files=("$libc")
if file=$(debug_file /usr/bin/python3); then files+=("$file"); fi

# xprof, stripped, with its debug file elsewhere.
mkdir "$TMP/debug"
objcopy --only-keep-debug "$XPROF" "$TMP/debug/xprof.debug"
objcopy --strip-all --add-gnu-debuglink="$TMP/debug/xprof.debug" "$XPROF" "$TMP/xprof"
files+=("$TMP/debug/xprof.debug")

cat >"$TMP/work.py" <<'END'
import json, random, re, time
while time.process_time() < 2:
    rows = json.loads(json.dumps([{"a": i, "b": str(i) * 3} for i in range(3000)]))
    re.sub(r"(\d)(\d+)", r"\2\1", " ".join(sorted(str(r["a"])[::-1] for r in rows)))
END
cat >"$TMP/work.sh" <<'END'
/usr/bin/python3 "$TMP/work.py"
"$TMP/xprof" inspect --json "${libc:?}" >/dev/null
"$TMP/xprof" symbolize "$TMP/raw0.pb.gz" -o "$TMP/x.html"
END
record_raw() { # OUT COMMAND...
    local out=$1
    shift
    "$XPROF" record --raw -F 997 -o "$out" -- "$@" 2>"$errors" || fail "nothing was recorded"
}
export libc
record_raw "$TMP/raw0.pb.gz" /usr/bin/python3 "$TMP/work.py"
record_raw "$TMP/raw.pb.gz" bash "$TMP/work.sh"
"$XPROF" symbolize --debug-dir "$TMP/debug" "$TMP/raw.pb.gz" -o "$TMP/named.pb.gz" 2>"$errors"
python3 e2e/dwarf/sampled.py "$TMP/named.pb.gz" "${files[@]}" || fail "they differ"
