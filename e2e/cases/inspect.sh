#!/bin/bash
# xprof inspect: what a file is, its rows and where there are none, its names and where they were looked for; addresses of a
# file and of a process; a program in a root of its own.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need jq chroot objcopy objdump strip go setpriv

inspect() { # ARGUMENT...
    "$XPROF" inspect --no-cache "$@" 2>"$errors"
}
check() { # JQ_EXPRESSION
    jq -e "$1" "$TMP/json" >/dev/null || fail "not so: $1: $(head -c 2000 "$TMP/json")"
}

root=$TMP/root
OUT=whole build_target inlines -g -static -Wl,--build-id=sha1
id=$(readelf -n "$TMP/whole" | sed -n 's/.*Build ID: //p')
place=/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug
mkdir -p "$root/bin" "$root${place%/*}"
strip -o "$root/bin/inlines" "$TMP/whole"
objcopy --only-keep-debug "$TMP/whole" "$root$place"

inspect --json "$TMP/whole" >"$TMP/json" || fail "a file"
check ".files[0] | .build_id == \"$id\" and .language == \"C++\" and .kind == \"static program at a fixed address\" or .kind == \"shared object\""
check '.files[0] | .rows.eh_frame > 100 and .covered / .code > 0.98 and .symbols > 100 and .lines.functions > 1'
check '[.files[0].debug_files[] | select(.outcome == "used")] | length == 1'
address=$(nm "$TMP/whole" | awk '$3 ~ /around/ && !seen++ { print $1 }')
inspect --json "$TMP/whole" "$address" >"$TMP/json" || fail "an address"
check '.addresses[0].frames | length >= 1 and (.[-1].function | startswith("around")) and (.[-1].file | endswith("inlines.cpp"))'
check '.addresses[0].rule == "CFA = rsp+8"'
inspect "$TMP/whole" "$address" >"$TMP/out"
grep -qE '^    around.*inlines.cpp:[0-9]+$' "$TMP/out" || fail "an address as text: $(cat "$TMP/out")"

# A process in its own root: the debug file is the root's, and what was tried before is said.
chroot "$root" /bin/inlines 20000 &
pid=$!
at_exit "kill -9 $pid"
await test /proc/$pid/exe -ef "$root/bin/inlines"
inspect --json $pid >"$TMP/json" || fail "a process"
check ".files[0].debug_files[] | select(.whose == \"container\" and .place == \"$place\") | .outcome == \"used\""
check '.files[0].debug_files[0].outcome == "has no debug information"'
check '.files | length == 2 and .[1].path == "[vdso]"'
inside=/proc/$pid/root
inspect --json "$inside/bin/inlines" >"$TMP/json" || fail "a file of a process's root"
check '.files[0] | .path == "/bin/inlines" and .lines.functions > 1'
read -r lo _ < <(awk '$2 ~ /x/ && /inlines/ { sub(/-.*/, "", $1); print $1 }' /proc/$pid/maps)
inspect --json $pid "$lo" 10 >"$TMP/json" || fail "addresses of a process"
check '(.addresses[0].file | endswith("/bin/inlines")) and (.addresses[1] | has("file") | not)'
objcopy --only-keep-debug "$XPROF" "$root$place"
inspect --json $pid >"$TMP/json" || fail "a process with another build's debug file"
check "any(.files[0].debug_files[]; .place == \"$place\" and .outcome == \"belongs to another build\")"

go build -ldflags='-s -w' -o "$TMP/go" e2e/targets/gonames.go
inspect --json "$TMP/go" >"$TMP/json" || fail "a Go program"
check '.files[0] | .language == "Go" and .rows.gopclntab > 1000 and .symbols == 0'

# Stubs of the PLT have the name of what they call, as objdump has it.
OUT=dynamic build_target inlines -g
objdump -d -j .plt -j .plt.sec "$TMP/dynamic" 2>/dev/null | sed -nE 's/^0*([0-9a-f]+) <(.*@plt)>:$/\1 \2/p' >"$TMP/stubs"
read -r address stub <"$TMP/stubs"
inspect --json "$TMP/dynamic" "$address" >"$TMP/json" || fail "a stub"
check ".addresses[0].frames[0].function | endswith(\"@plt\")"
inspect "$TMP/dynamic" "$(sed -n '/ memcpy@plt\| memmove@plt\| memset@plt/{s/ .*//p;q}' "$TMP/stubs")" >"$TMP/out"
grep -qE '^    mem(cpy|move|set)@plt$' "$TMP/out" || fail "$stub: $(cat "$TMP/out")"

refused() { # STATUS TEXT ARGUMENT...
    local status=$1 text=$2 rc=0
    shift 2
    inspect "$@" >"$TMP/out" || rc=$?
    if [ $rc != "$status" ] || [ "$(wc -l <"$errors")" != 1 ] || ! grep -q "$text" "$errors"; then
        fail "$*: $rc, $(cat "$errors")"
    fi
}
refused 2 'nothing to inspect'
refused 1 'No such file' /nowhere
refused 1 'directory' /tmp
refused 1 'not a regular file' /dev/null
refused 1 'there is no process' 4194000
refused 2 'not an address' "$TMP/whole" xyz
refused 1 'a kernel thread' 2
# Who may not open what a process has mapped is told so.
bare() { # COMMAND...: root by number only
    exec setpriv --bounding-set -all --inh-caps -all "$@"
}
bare sleep 1000 &
pid=$!
at_exit "kill -9 $pid"
await grep -q sleep /proc/$pid/comm
(bare "$XPROF" inspect --no-cache $pid) >"$TMP/out" 2>"$errors" || fail "without privileges: $(cat "$errors")"
grep -q 'mappings are left out: Operation not permitted' "$errors" || fail "without privileges: $(cat "$errors")"
echo text >"$TMP/text"
inspect "$TMP/text" >"$TMP/out"
grep -q 'not an ELF file' "$TMP/out" || fail "a text"
