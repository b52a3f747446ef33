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
    printf 'base - zlib.h\nnet base curl/\n' >agent/rooms.allow
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
printf '#include "net/http.h"\n#include <curl/curl.h>\n' >agent/base/thing_test.c
if B=build "$tools/lint.sh" rooms >/dev/null; then passed=$((passed + 1)); else failed=$((failed + 1)); fi

fresh_tree
function_of fits 80 >agent/base/long.c
function_of sprawls 81 >>agent/base/long.c
function_of deep 66 >bpf/x.bpf.c
expect sizes 'agent/base/long.c:81: function sprawls has 81 lines'
expect sizes 'bpf/x.bpf.c:1: function deep has 66 lines'
seq 601 | sed 's/.*/\/\/ &/' >agent/base/file.c
expect sizes 'agent/base/file.c:601: the file has 601 lines'
seq 201 | sed 's/.*/# &/' >Makefile
expect sizes 'Makefile:201: the file has 201 lines'
if B=build "$tools/lint.sh" sizes 2>&1 | grep -q fits; then failed=$((failed + 1)); else passed=$((passed + 1)); fi

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
printf 'x\n<!-- options -->\nold\n<!-- /options -->\n' >README.md
expect readme 'README.md:2: not what the program says'
printf 'x\n' >README.md
expect readme 'README.md:1: <!-- options -->'
printf 'x\n<!-- options -->\nold\n<!-- /options -->\ny\n' >README.md
"$tools/readme.sh" build/xprof
[ "$(cat README.md)" = "$(printf 'x\n<!-- options -->\nnew\n<!-- /options -->\ny')" ] || failed=$((failed + 1))

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
