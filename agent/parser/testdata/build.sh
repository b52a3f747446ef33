#!/bin/bash
# Fixtures of agent/parser: bash build.sh OUTDIR makes OUTDIR/parser, with CC from the environment.
set -eu
out=$1/parser
mkdir -p "$out"
${CC:-gcc} -nostdlib -shared -Wl,--build-id=sha1 -o "$out/trampoline.so" "$(dirname "$0")/trampoline.s"
