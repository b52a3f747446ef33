#!/bin/bash
# Fixtures of agent/elf: bash build.sh OUTDIR makes OUTDIR/elf, with CC from the environment. One oddity each;
# what the tools of this machine cannot make is left out, and its test skips.
set -eu
out=$1/elf
src=$(dirname "$0")
cc=${CC:-gcc}
mkdir -p "$out"

link() { # output, sources and flags
    local to=$1
    shift
    $cc -nostdlib -Wl,--build-id=sha1 -Wa,-I,"$src" -o "$out/$to" "$@"
}

link cfi.so -shared "$src/cfi.s"
link bad.so -shared -Wl,--no-eh-frame-hdr "$src/bad.s" 2>/dev/null
link cfi-debug.so -shared -Wl,--compress-debug-sections=none "$src/debug_frame.s"
link cfi-debug-zlib.so -shared -Wl,--compress-debug-sections=zlib "$src/debug_frame.s"
objcopy --compress-debug-sections=zstd "$out/cfi-debug.so" "$out/cfi-debug-zstd.so" 2>/dev/null || rm -f "$out/cfi-debug-zstd.so"
link moved -static -no-pie -Wl,-e,first -Wl,-Ttext-segment=0x10000000 -Wl,--section-start=.text=0x10503000 "$src/cfi.s"
link start -static -no-pie "$src/start.s"
link symbols.so -shared -Wl,--version-script="$src/symbols.map" "$src/symbols.s"
link data.so -shared -fPIC "$src/data.c"
link loop.so -shared "$src/loop.s"
strip -o "$out/loop-stripped.so" "$out/loop.so"
for loop in execute_ex Perl_runops_standard Perl_runops_debug; do
    sed "s/_PyEval_EvalFrameDefault/$loop/g" "$src/loop.s" >"$out/loop.s"
    link "loop-$loop.so" -shared "$out/loop.s"
done
link labels.so -shared "$src/labels.s"
strip -o "$out/labels-stripped.so" "$out/labels.so"
link labels-relr.so -shared -Wl,-z,pack-relative-relocs "$src/labels.s"
sed 's/ruby_run_node/run_node/g' "$src/labels.s" >"$out/labels.s"
link handlers.so -shared "$src/handlers.s"
link labels-unknown.so -shared "$out/labels.s"
sed 's/130/127/g' "$src/labels.s" >"$out/labels.s"
link labels-few.so -shared "$out/labels.s"
link allocators.so -shared "$src/allocators.s"
link allocators-wrapping.so -shared -Wa,--defsym,WRAPS=1 "$src/allocators.s"
objcopy --add-section .gopclntab="$src/allocators.s" "$out/allocators.so" "$out/allocators-go.so"
objcopy --only-keep-debug "$out/data.so" "$out/data-debug"
strip -o "$out/data-stripped.so" "$out/data.so"
# A name that is not UTF-8.
{ printf '.text\n.globl bad\377name\n.type bad\377name,@function\nbad\377name: ret\n.size bad\377name,.-bad\377name\n'; } >"$out/bytes.s"
link bytes.so -shared "$out/bytes.s"
printf 'int puts(const char *); int main(void) { return puts("plt"); }\n' >"$out/plt.c"
$cc -O1 -fcf-protection=none -Wl,-z,lazy -o "$out/plt" "$out/plt.c"
$cc -O1 -fcf-protection=none -Wl,-z,lazy -Wl,--no-ld-generated-unwind-info -o "$out/plt-no-cfi" "$out/plt.c"
$cc -O1 -static -no-pie -o "$out/static" "$out/plt.c" 2>/dev/null || rm -f "$out/static"

# Debug information, one flavour each. The paths in it are relative to this folder, so that they are known.
dwarf() { # output, compiler and flags; link= says how
    local to=$1
    shift
    (cd "$src" && "$@" -O2 -fno-asynchronous-unwind-tables -nostdlib -ffile-prefix-map="$PWD"=/src "${link[@]}" \
        -Wl,--build-id=sha1 -o "$out/$to") 2>/dev/null || rm -f "$out/$to"
}
link=(-static -no-pie)
clang=${CLANG:-clang}
case $out in /*) ;; *) out=$PWD/$out ;; esac
for v in 2 3 4 5; do dwarf "dwarf-$v" "$cc" "-gdwarf-$v" dwarf.c; done
dwarf dwarf-strict "$cc" -gdwarf-2 -gstrict-dwarf dwarf.c
dwarf dwarf-g1 "$cc" -g1 dwarf.c
dwarf dwarf-64 "$cc" -gdwarf-5 -gdwarf64 dwarf.c
dwarf dwarf-zlib "$cc" -gdwarf-5 -Wl,--compress-debug-sections=zlib dwarf.c
objcopy --compress-debug-sections=zstd "$out/dwarf-5" "$out/dwarf-zstd" 2>/dev/null || rm -f "$out/dwarf-zstd"
dwarf dwarf-zdebug "$cc" -gdwarf-4 -Wl,--compress-debug-sections=zlib-gnu dwarf.c
link=(-static-pie)
dwarf dwarf-pie "$cc" -fpie -gdwarf-5 dwarf.c
link=(-static -no-pie)
dwarf dwarf-sections "$cc" -gdwarf-5 -ffunction-sections -Wl,--gc-sections dwarf.c
dwarf dwarf-moved "$cc" -gdwarf-5 -Wl,-Ttext-segment=0x10000000 -Wl,--section-start=.text=0x10503000 dwarf.c
dwarf dwarf-lto "$cc" -gdwarf-5 -flto dwarf.c
dwarf dwarf-lto-zlib "$cc" -gdwarf-5 -flto -Wl,--compress-debug-sections=zlib dwarf.c
dwarf dwarf-clang "$clang" -gdwarf-5 dwarf.c
dwarf dwarf-clang-4 "$clang" -gdwarf-4 dwarf.c
dwarf dwarf-clang-tables "$clang" -gline-tables-only dwarf.c
# Split units, single and in a package.
for v in 4 5; do
    dwarf "dwarf-split-$v" "$cc" "-gdwarf-$v" -gsplit-dwarf -ffunction-sections dwarf.c # beside it: dwarf-split-4-dwarf.dwo
    (cd "$src" && "$clang" "-gdwarf-$v" -gsplit-dwarf -O2 -ffile-prefix-map="$PWD"=/src -c -o "$out/clang-$v.o" dwarf.c &&
        "$clang" -nostdlib -static -no-pie -Wl,--build-id=sha1 -o "$out/dwarf-clang-split-$v" "$out/clang-$v.o" &&
        mv "$out/clang-$v.dwo" "$out/dwarf-clang-split-$v-dwarf.dwo") 2>/dev/null || rm -f "$out/dwarf-clang-split-$v"
    rm -f "$out/clang-$v.o"
    llvm-dwp -o "$out/dwarf-clang-split-$v.dwp" "$out/dwarf-clang-split-$v-dwarf.dwo" 2>/dev/null || rm -f "$out/dwarf-clang-split-$v.dwp"
done
dwp -o "$out/dwarf-split-4.dwp" "$out/dwarf-split-4-dwarf.dwo" 2>/dev/null || rm -f "$out/dwarf-split-4.dwp" # it knows no version 5
dwarf dwarf-cpp "$cc" -gdwarf-5 dwarf.cpp
if [ -e "$out/dwarf-cpp" ]; then
    objcopy --only-keep-debug "$out/dwarf-cpp" "$out/dwarf-cpp-debug"
    strip -o "$out/dwarf-cpp-stripped" "$out/dwarf-cpp"
fi
# MiniDebugInfo, as Fedora makes it: function symbols only, xz, inside of the stripped file.
if command -v xz >/dev/null && [ -e "$out/dwarf-5" ]; then
    objcopy -S --remove-section .comment --keep-symbol outer --keep-symbol hidden_one "$out/dwarf-5" "$out/mini" 2>/dev/null
    xz -9 -c "$out/mini" >"$out/mini.xz"
    strip -o "$out/dwarf-stripped" "$out/dwarf-5"
    objcopy --add-section .gnu_debugdata="$out/mini.xz" "$out/dwarf-stripped" "$out/dwarf-mini"
    rm "$out/mini" "$out/mini.xz"
fi
if command -v dwz >/dev/null && cp "$out/dwarf-cpp" "$out/dwarf-dwz"; then
    dwz "$out/dwarf-dwz" 2>/dev/null || rm -f "$out/dwarf-dwz"
    objcopy --compress-debug-sections=zlib "$out/dwarf-dwz" "$out/dwarf-dwz-zlib" 2>/dev/null || rm -f "$out/dwarf-dwz-zlib"
fi
if command -v rustc >/dev/null; then
    (cd "$src" && rustc --edition 2021 -O -g -C panic=abort -C link-arg=-nostdlib -C link-arg=-nostartfiles -C relocation-model=static \
        -C link-arg=-static -C link-arg=-no-pie --remap-path-prefix "$PWD"=/src -o "$out/dwarf-rust" dwarf.rs) 2>/dev/null || rm -f "$out/dwarf-rust"
fi

# Without section headers: e_shoff, then e_shnum and e_shstrndx become 0.
for f in cfi.so symbols.so; do
    cp "$out/$f" "$out/bare-$f"
    head -c 8 /dev/zero | dd of="$out/bare-$f" bs=1 seek=40 conv=notrunc status=none
    head -c 4 /dev/zero | dd of="$out/bare-$f" bs=1 seek=60 conv=notrunc status=none
done
