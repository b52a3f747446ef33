#!/bin/bash
# Fixtures of agent/synth: bash build.sh OUTDIR makes OUTDIR/synth, with CC from the environment.
set -eu
out=$1/synth
src=$(dirname "$0")
mkdir -p "$out"
${CC:-gcc} -nostdlib -shared -Wl,--build-id=sha1 -Wl,-Bsymbolic -o "$out/shapes.so" "$src/shapes.s"
${CC:-gcc} -nostdlib -static -no-pie -Wl,-e,entry_point -o "$out/fixed" "$src/fixed.s"
# Without section headers: e_shoff, then e_shnum and e_shstrndx become 0.
cp "$out/shapes.so" "$out/bare.so"
head -c 8 /dev/zero | dd of="$out/bare.so" bs=1 seek=40 conv=notrunc status=none
head -c 4 /dev/zero | dd of="$out/bare.so" bs=1 seek=60 conv=notrunc status=none
