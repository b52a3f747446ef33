#!/bin/bash
# Fixtures of agent/runtime: bash build.sh OUTDIR makes OUTDIR/runtime. Each NAME is a Go program and NAME.frames what it
# says about itself; what this machine cannot build is left out, and its test skips.
set -u
out=$1/runtime
src=$(cd "$(dirname "$0")" && pwd)
cc=${CC:-gcc}
n=20000
mkdir -p "$out"
command -v go >/dev/null || exit 0
export GOFLAGS=-buildvcs=false GOTOOLCHAIN=local CGO_ENABLED=0

# 1.23 and later refuse foreign linknames unless told; earlier ones do not know the flag.
build() { # GO NAME LDFLAGS [FLAG...] -- SOURCE...
    local go=$1 to=$out/$2 ld=$3
    shift 3
    "$go" build -ldflags "$ld -checklinkname=0" -o "$to" "$@" 2>/dev/null || "$go" build -ldflags "$ld" -o "$to" "$@"
}

program() { # like build
    local to=$out/$2
    if ! { build "$@" && "$to" "$n" >"$to.frames"; }; then rm -f "$to" "$to.frames"; fi
}

program go plain "" "$src/main.go"
program go stripped "-s -w" "$src/main.go"
program go pie "-s -w" -buildmode=pie "$src/main.go"
program go trimpath "-s -w" -trimpath "$src/main.go"
export CGO_ENABLED=1
program go cgo "-s -w -linkmode external" -buildmode=pie "$src/main.go" "$src/cgo.go"
if build go shared.so "-s -w" -buildmode=c-shared "$src/main.go" "$src/cgo.go" &&
    $cc -o "$out/host" "$src/host.c" -ldl && "$out/host" "$out/shared.so" "$n" >"$out/shared.so.frames"; then
    rm -f "$out/shared.h"
else
    rm -f "$out"/shared.*
fi

# Without section headers: e_shoff, then e_shnum and e_shstrndx become 0.
for f in stripped cgo; do
    [ -f "$out/$f" ] || continue
    cp "$out/$f" "$out/bare-$f"
    cp "$out/$f.frames" "$out/bare-$f.frames"
    head -c 8 /dev/zero | dd of="$out/bare-$f" bs=1 seek=40 conv=notrunc status=none
    head -c 4 /dev/zero | dd of="$out/bare-$f" bs=1 seek=60 conv=notrunc status=none
done

# Older ones: Debian's golang-1.NN, and what GOTOOLCHAIN=go1.NN.N has brought.
unset GOROOT
for go in /usr/lib/go-*/bin/go "$(go env GOMODCACHE)"/golang.org/toolchain@*/bin/go; do
    [ -x "$go" ] || continue
    name=old-$("$go" env GOVERSION)
    CGO_ENABLED=0 program "$go" "$name" "-s -w" "$src/main.go"
    CGO_ENABLED=0 program "$go" "$name-plain" "" "$src/main.go"
    CGO_ENABLED=1 program "$go" "$name-cgo" "-s -w -linkmode external" -buildmode=pie "$src/main.go" "$src/cgo.go"
done

# 1.15's table, which only debug/gosym can still read, as the section of a file with room for its code.
data=$(go env GOROOT)/src/debug/gosym/testdata/pcln115.gz
if CGO_ENABLED=0 go run "$src/table115.go" "$data" "$out/table115" >"$out/go115.frames"; then
    printf '.text\n.skip 0x400000, 0xcc\n.section .gopclntab, "a"\n.incbin "%s"\n' "$out/table115" |
        $cc -nostdlib -static -no-pie -Wl,-Ttext=0x1001000 -Wl,-e,0x1001000 -x assembler -o "$out/go115" -
fi
[ -f "$out/go115" ] || rm -f "$out"/go115*
rm -f "$out/table115"
exit 0
