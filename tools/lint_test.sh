#!/bin/bash
# Tests of the linter: small trees that break one rule each, and one that breaks none.
# shellcheck disable=SC2016 # what the trees hold has its $ as it is
set -uo pipefail

tools=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
passed=0 failed=0

# A tree without fault: one room, one header, one file, one script.
fresh_tree() {
    rm -rf "$top/tree"
    mkdir -p "$top/tree/agent/base" "$top/tree/agent/net" "$top/tree/bpf" "$top/tree/tools"
    cd "$top/tree" || exit 2
    cp "$tools/../.clang-format" "$tools/../.clang-tidy" .
    printf '1 net base curl/\n0 base - zlib.h\n' >agent/rooms.allow
    printf '#include "base/thing.h"\n' >agent/net/net.c
    printf '/* A thing. */\n#pragma once\nint thing(int a);\n' >agent/base/thing.h
    printf '#include "base/thing.h"\n\nint thing(int a)\n{\n    return a + 1;\n}\n' >agent/base/thing.c
    printf 'all:\n' >Makefile
    printf '#!/bin/bash\necho "$1"\n' >tools/say.sh
}

# expect RULE 'FILE:LINE: WORDS' after the tree was spoiled
expect() {
    local out
    out=$(B=build "$tools/lint.sh" "$1" 2>&1)
    if grep -qF -- "$2" <<<"$out"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAIL %s: expected "%s", got:\n%s\n' "$1" "$2" "$out"
    fi
}

expect_clean() {
    local out
    if out=$(B=build "$tools/lint.sh" 2>&1) && [ -z "$out" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAIL: a clean tree is not: %s\n' "$out"
    fi
}

function_of() { # NAME LINES
    printf 'int %s(int a)\n{\n' "$1"
    for ((i = 3; i < $2; i++)); do printf '    a++;\n'; done
    printf '}\n'
}

fresh_tree
expect_clean
expect_clean # from the stamps this time

fresh_tree
printf 'int  thing(void);\n' >>agent/base/thing.h
expect format 'agent/base/thing.h:4: not as clang-format'

fresh_tree
printf '#include "net/http.h"\n' >>agent/base/thing.c
expect rooms 'agent/base/thing.c:7: the room "base" may not include "net"'
printf '#include <zlib.h>\n#include <curl/curl.h>\n' >agent/net/http.c
expect rooms 'agent/net/http.c:1: <zlib.h> belongs to base alone'
expect rooms 'agent/base/thing.c:7'
printf '#include "proc/proc.h"\n' >agent/net/http.c
expect rooms 'agent/net/http.c:1: "proc/proc.h" is in no room'
mkdir agent/attic
printf 'int x;\n' >agent/attic/x.c
expect rooms 'agent/attic/x.c:1: the room "attic" is not in rooms.allow'
printf '#include "base/thing.h"\n' >bpf/x.bpf.h
expect rooms 'bpf/x.bpf.h:1: bpf includes "base/thing.h"'
fresh_tree
printf '1 net base curl/\n0 base net zlib.h\n' >agent/rooms.allow
printf '#include "net/http.h"\n' >agent/base/up.c
expect rooms 'agent/rooms.allow:2: base (layer 0) includes net (layer 1), which is above it'
printf '0 net base curl/\n0 base net zlib.h\n' >agent/rooms.allow
expect rooms 'a circle: '
printf '1 net base -\n0 base - -\n' >agent/rooms.allow
rm agent/base/up.c agent/net/net.c
printf 'int x;\n' >agent/net/alone.c
expect rooms 'agent/rooms.allow:1: net may include base, and does not'
printf '1 net base attic -\n0 base - -\n' >agent/rooms.allow
expect rooms 'agent/rooms.allow:1: there is no room "attic"'
fresh_tree
printf '/* One. */\n#include "base/other.h"\n' >agent/base/thing.h
printf '/* Two. */\n' >agent/base/other.h
printf '#include "base/thing.h"\n' >agent/base/other.c
expect rooms 'a circle: '
rm agent/base/other.c
printf '/* Shared. */\n#include "base/thing.h"\n' >agent/base/thing_internal.h
printf '#include "base/thing_internal.h"\n' >agent/base/part.c
printf '#include "base/thing_internal.h"\n' >agent/base/thing.c
if B=build "$tools/lint.sh" rooms >/dev/null; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
mkdir -p agent/cli/one
printf '#include "base/thing.h"\n' >agent/cli/one/one.c
expect rooms 'agent/cli/one/one.c:1: the room "cli/one" is not in rooms.allow'

fresh_tree
printf '#include "net/http.h"\n#include <curl/curl.h>\n' >agent/base/thing_test.c
if B=build "$tools/lint.sh" rooms >/dev/null; then passed=$((passed + 1)); else failed=$((failed + 1)); fi

fresh_tree
function_of fits 78 >agent/base/long.c
function_of sprawls 79 >>agent/base/long.c
function_of deep 66 >bpf/x.bpf.c
seq 400 | sed 's/.*/\/\/ &/' >agent/base/fits.c
seq 600 | sed 's/.*/\/\/ &/' >agent/base/fits_test.c
expect sizes 'agent/base/long.c:79: function sprawls has 79 lines'
expect sizes 'bpf/x.bpf.c:1: function deep has 66 lines'
seq 401 | sed 's/.*/\/\/ &/' >agent/base/file.c
expect sizes 'agent/base/file.c:401: the file has 401 lines'
seq 601 | sed 's/.*/\/\/ &/' >agent/base/file_test.c
expect sizes 'agent/base/file_test.c:601: the file has 601 lines'
seq 201 | sed 's/.*/# &/' >Makefile
expect sizes 'Makefile:201: the file has 201 lines'
if B=build "$tools/lint.sh" sizes 2>&1 | grep -q fits; then failed=$((failed + 1)); else passed=$((passed + 1)); fi

fresh_tree
mkdir -p build/bpf
object_of() { # NAME BYTES: a program that takes so many, and a function that takes 256
    printf '__attribute__((noinline)) int callee(int a) { volatile long v[32]; v[a & 31] = a; return v[0]; }
__attribute__((section("p"))) int %s(int *a) { volatile long v[%s]; v[*a & 7] = *a; return callee(*a) + v[0]; }\n' \
        "$1" "$(($2 / 8))" | clang -target bpf -O2 -x c -c -o "build/bpf/$1.bpf.o" -
}
object_of shallow 232
object_of deep 280
expect stacks 'bpf/deep.bpf.c:1: deep and what it calls take 544 bytes of stack'
if B=build "$tools/lint.sh" stacks 2>&1 | grep -q shallow; then failed=$((failed + 1)); else passed=$((passed + 1)); fi

fresh_tree
printf '/* caf\303\251 */\n' >>agent/base/thing.c
expect text 'agent/base/thing.c:7: a character that is not ASCII'
printf 'int y; \n' >agent/base/thing.c
expect text 'agent/base/thing.c:1: blanks at the end'
printf '\tint y;\n' >agent/base/thing.c
expect text 'agent/base/thing.c:1: a tab'
printf 'cd /%s/me/src\n' home >>tools/say.sh
expect text 'tools/say.sh:3: an absolute path of some machine'

fresh_tree
sed -i 1d agent/base/thing.h
expect headers 'agent/base/thing.h:1: a header opens with a comment'

fresh_tree
printf 'echo $1\n' >>tools/say.sh
expect shell 'tools/say.sh:3:'

fresh_tree
mkdir build
printf '#!/bin/sh\necho new\n' >build/xprof
chmod +x build/xprof
mkdir docs
printf 'x\n<!-- options -->\nold\n<!-- /options -->\n' >docs/options.md
expect docs 'docs/options.md:2: not what the program says'
printf 'x\n' >docs/options.md
expect docs 'docs/options.md:1: <!-- options -->'
printf 'x\n<!-- options -->\nold\n<!-- /options -->\ny\n' >docs/options.md
"$tools/options.sh" build/xprof
[ "$(cat docs/options.md)" = "$(printf 'x\n<!-- options -->\nnew\n<!-- /options -->\ny')" ] || failed=$((failed + 1))
rm build/xprof docs/options.md
printf 'See [that](docs/there.md), `agent/base/thing.h` and `agent/ROOM/ROOM.h`.\n' >README.md
printf '[up](../README.md)\n' >docs/there.md
if B=build "$tools/lint.sh" docs; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
printf '[gone](docs/gone.md)\n' >README.md
expect docs 'README.md:1: a link to docs/gone.md, which is not there'
printf 'x\n`agent/base/moved.c`\n' >README.md
expect docs 'README.md:2: agent/base/moved.c is not there'
printf 'x%120s\n' x >README.md
expect docs 'README.md:1: a line of 121 characters'
{ seq 140 && printf '| row |\n%.0s' 1 2 3 && echo x; } >README.md
expect docs 'README.md:144: the first page has more than 140 lines, its tables left out'

fresh_tree
mkdir -p deploy/helm/xprof
printf '# -- a port\nport: 1\n' >deploy/helm/xprof/values.yaml
printf '<!-- values -->\n| `port` | `2` | a port |\n<!-- /values -->\n' >deploy/helm/xprof/README.md
expect chart 'deploy/helm/xprof/README.md:1: not what the chart says'
printf 'port: 1\n' >deploy/helm/xprof/values.yaml
expect chart 'values.yaml:1: port has no comment'

fresh_tree
printf 'int unused(int a)\n{\n    return 0;\n}\n' >agent/base/warn.c
expect code 'agent/base/warn.c:1:' # no prototype
printf '#include <string.h>\n#include "base/thing.h"\nint thing(int a)\n{\n    char b[4];\n    memset(b, sizeof(b), 0);\n    return b[a];\n}\n' \
    >agent/base/thing.c
expect code 'agent/base/thing.c:6:' # clang-tidy

echo "lint: $passed passed, $failed failed"
[ $failed = 0 ]
