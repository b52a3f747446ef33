#!/bin/bash
# Split debug information (-gsplit-dwarf): the units' files lie where they were compiled, beside the program, or in a
# package, in the root of the program; never the host's of the same path, nor those of another build.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need chroot

root=$TMP/root
where=$TMP/build # of the compiler
chain='.*;main;around.*;between.*;innermost.*'
mkdir -p "$root/bin" "$root$where" "$where"

compile() { # COMPILER FLAG...
    rm -f "$where"/* "$root/bin"/* "$root$where"/*
    cp e2e/targets/inlines.cpp e2e/targets/burn.h "$where"
    (cd "$where" && "$@" -O2 -gsplit-dwarf -c inlines.cpp && "$1" -static -o inlines inlines.o && cp inlines "$root/bin")
}

has_chain() {
    expect_stack "$chain" "$profile" 20
}

named() {
    record_both has_chain -- chroot "$root" /bin/inlines 300
}

not_named() {
    record -- chroot "$root" /bin/inlines 300
    if grep -qE 'between[()]*;innermost' "$profile"; then fail "named by a file that is not its own"; fi
}

compile g++ -gdwarf-5
grep -q between "$where/inlines.dwo" || fail "this compiler makes no split unit"
not_named # the host has it at the compiler's place
expect .lines_missing_parts '>=' 1
cp "$where/inlines.dwo" "$root$where"
named
expect .lines_missing_parts '==' 0
mv "$root$where/inlines.dwo" "$root/bin"
named
cp "$where/inlines.dwo" "$TMP/first.dwo"

package() { # TOOL COMPILER FLAG...: no packager knows what gcc makes of version 5
    local tool=$1
    shift
    if ! command -v "$tool" "$1" >/dev/null; then return; fi
    compile "$@"
    "$tool" -o "$root/bin/inlines.dwp" "$where/inlines.dwo"
    named
    echo "$tool $*"
}
package dwp g++ -gdwarf-4
package llvm-dwp clang++ -std=c++17 -gdwarf-5

compile g++ -gdwarf-5 -O1
cp "$TMP/first.dwo" "$root/bin/inlines.dwo" # another build's
not_named
