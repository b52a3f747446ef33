#!/bin/bash
# Images for tests, made offline: registry.local/pause:1 and registry.local/busybox:1.   images.sh FOLDER
# Leaves pause.tar and busybox.tar there. Needs gcc, python3, busybox (static).
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
out=${1:?the folder}

mkdir -p "$out"
gcc -Os -w -static -nostdlib -ffreestanding -fno-stack-protector -fno-pie -no-pie -o "$out/pause" "$here/pause.c"
python3 "$here/oci.py" "$out/pause.tar" registry.local/pause:1 '["/pause"]' "pause=$out/pause"
links=()
for tool in sh sleep cat echo ls ps id true kill mkdir; do links+=("@bin/$tool=busybox"); done
python3 "$here/oci.py" "$out/busybox.tar" registry.local/busybox:1 '["/bin/sh"]' \
    "bin/busybox=$(command -v busybox)" "${links[@]}"
