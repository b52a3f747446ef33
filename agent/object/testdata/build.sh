#!/bin/bash
# Fixtures of agent/object: bash build.sh OUTDIR makes OUTDIR/object, with CC from the environment. One oddity each;
# what the tools of this machine cannot make is left out, and its test skips.
set -eu
out=$1/object
src=$(dirname "$0")
cc=${CC:-gcc}
mkdir -p "$out"

link() { # output, sources and flags
    local to=$1
    shift
    $cc -nostdlib -Wl,--build-id=sha1 -o "$out/$to" "$@"
}

link cfi.so -shared "$src/cfi.s"
link bad.so -shared -Wl,--no-eh-frame-hdr "$src/bad.s" 2>/dev/null
link cfi-debug.so -shared -Wl,--compress-debug-sections=none "$src/debug_frame.s"
link cfi-debug-zlib.so -shared -Wl,--compress-debug-sections=zlib "$src/debug_frame.s"
objcopy --compress-debug-sections=zstd "$out/cfi-debug.so" "$out/cfi-debug-zstd.so" 2>/dev/null || rm -f "$out/cfi-debug-zstd.so"
link moved -static -no-pie -Wl,-e,first -Wl,-Ttext-segment=0x10000000 -Wl,--section-start=.text=0x10503000 "$src/cfi.s"
link start -static -no-pie "$src/start.s"
link symbols.so -shared -Wl,--version-script="$src/symbols.map" "$src/symbols.s"
# A name that is not UTF-8.
{ printf '.text\n.globl bad\377name\n.type bad\377name,@function\nbad\377name: ret\n.size bad\377name,.-bad\377name\n'; } >"$out/bytes.s"
link bytes.so -shared "$out/bytes.s"
printf 'int puts(const char *); int main(void) { return puts("plt"); }\n' >"$out/plt.c"
$cc -O1 -fcf-protection=none -Wl,-z,lazy -o "$out/plt" "$out/plt.c"
$cc -O1 -fcf-protection=none -Wl,-z,lazy -Wl,--no-ld-generated-unwind-info -o "$out/plt-no-cfi" "$out/plt.c"
$cc -O1 -static -no-pie -o "$out/static" "$out/plt.c" 2>/dev/null || rm -f "$out/static"

# Without section headers: e_shoff, then e_shnum and e_shstrndx become 0.
for f in cfi.so symbols.so; do
    cp "$out/$f" "$out/bare-$f"
    head -c 8 /dev/zero | dd of="$out/bare-$f" bs=1 seek=40 conv=notrunc status=none
    head -c 4 /dev/zero | dd of="$out/bare-$f" bs=1 seek=60 conv=notrunc status=none
done
