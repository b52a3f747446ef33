#!/bin/bash
# Lists the files of all shared libraries of a program: those that it is linked with, and of xprof those that it loads
# when they are needed (agent/base/library.h), with theirs.
#   tools/libraries.sh PROGRAM
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin
files=("$1")
while read -r name; do
    file=$(ldconfig -p | awk -v n="$name" '$1 == n && /x86-64/ && !seen++ { print $NF }')
    [ -n "$file" ] || { echo "$name is not installed" >&2 && exit 1; }
    echo "$file"
    files+=("$file")
done < <(grep -aoE 'lib(curl|microhttpd)\.so\.[0-9]+' "$1" | sort -u)
ldd "${files[@]}" | { grep -E "^[[:space:]]" || true; } | { grep -o "/[^ ]*" || true; }
