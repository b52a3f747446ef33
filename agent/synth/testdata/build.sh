#!/bin/bash
# Fixtures of agent/synth: bash build.sh OUTDIR makes OUTDIR/synth, with CC from the environment.
set -eu
out=$1/synth
src=$(dirname "$0")
mkdir -p "$out"
${CC:-gcc} -nostdlib -shared -Wl,--build-id=sha1 -Wl,-Bsymbolic -Wa,-I,"$src" -o "$out/shapes.so" "$src/shapes.s"
${CC:-gcc} -nostdlib -shared -o "$out/tails.so" "$src/tails.s"
${CC:-gcc} -nostdlib -shared -Wl,-Bsymbolic -Wa,-I,"$src" -o "$out/endless.so" "$src/endless.s"
${CC:-gcc} -nostdlib -static -no-pie -Wl,-e,entry_point -Wa,-I,"$src" -o "$out/fixed" "$src/fixed.s"
# Without section headers: e_shoff, then e_shnum and e_shstrndx become 0.
cp "$out/shapes.so" "$out/bare.so"
head -c 8 /dev/zero | dd of="$out/bare.so" bs=1 seek=40 conv=notrunc status=none
head -c 4 /dev/zero | dd of="$out/bare.so" bs=1 seek=60 conv=notrunc status=none

# Files of compilers that have conventions of their own.
foreign() { # output, source
    printf '%b' ".text\n.globl f\n.type f, @function\nf: push %rax\npop %rax\nret\n$2\n" >"$out/$1.s"
    ${CC:-gcc} -nostdlib -shared -Wl,--hash-style=gnu -o "$out/$1" "$out/$1.s"
}
foreign psabi.so ""
foreign go.so '.section .gopclntab, "a"\n.long 0'
foreign go-note.so '.section .note.id, "a", @note\n.long 4, 4, 4\n.asciz "Go\\0"\n.asciz "abc"'
foreign v8.so '.globl v8_Default_embedded_blob_code_\nv8_Default_embedded_blob_code_: nop'
foreign ocaml.so '.globl caml_runstack\ncaml_runstack: nop'
