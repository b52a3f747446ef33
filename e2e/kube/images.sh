#!/bin/bash
# The images of the test cluster, made here: pause.tar (registry.local/pause:1) and box.tar (registry.local/box:1, a
# static busybox as shell).
#   images.sh FOLDER [NAME=PROGRAM...]    each further one: NAME.tar (registry.local/NAME:1) holds the PROGRAM, with its
#                                         libraries, as /NAME
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$(realpath -m "${1:?folder}")
shift
mkdir -p "$folder"

image() { # NAME COMMAND PATH...
    local name=$1 command=$2
    shift 2
    python3 "$here/image.py" "$folder/$name.tar" "registry.local/$name:1" "$command" "$@"
}

"${CC:-gcc}" -Os -static -nostdlib -ffreestanding -fno-stack-protector -fno-pie -no-pie -Wall \
    -o "$folder/pause" "$here/pause.c"
image pause '["/pause"]' "pause=$folder/pause"

busybox=$(command -v busybox) || { echo "there is no busybox" >&2 && exit 1; }
links=()
for tool in sh sleep cat echo ls ps id true kill wget nc grep head tail env dd; do links+=("@bin/$tool=busybox"); done
image box '["/bin/sh"]' "bin/busybox=$busybox" "${links[@]}"

for item; do
    name=${item%%=*}
    program=${item#*=}
    files=("$name=$program")
    while read -r library; do
        files+=("${library#/}=$(realpath "$library")")
    done < <(tools/libraries.sh "$program" 2>/dev/null | sort -u)
    image "$name" "[\"/$name\"]" "${files[@]}"
done
