#!/bin/bash
# A program with many more distinct call paths than the kernel side has room for in an interval, all in a moment: no
# allocation is lost, and of few only the stack.
set -euo pipefail
. e2e/lib.sh
. e2e/pprof.sh
need_root
need go
need_kernel 6.6 "uprobe_multi links"
build_target paths -O1 -fno-builtin -fno-optimize-sibling-calls

counts() { # OPTION... -- COMMAND...: the program's blocks and bytes; a few more are of what starts it
    record -e memory --memory-exact -o "$TMP/x.pb.gz" "$@"
    expect .lost.sum == 0
    expect .lost.wait == 0
    for value in alloc_objects=65536 inuse_space=6553600; do
        profile_rows "$TMP/x.pb.gz" |
            awk -F '\t' -v name="${value%=*}" -v own="${value#*=}" '
                NR == 1 { split($0, names, " "); for (i in names) if (names[i] == name) column = i; next }
                { split($1, v, " "); n += v[column]; stacks++ }
                END {
                    printf "%s: %d at %d paths\n", name, n, stacks
                    exit n < own || n > own * 1.02 || stacks < 0.97 * 65536
                }' ||
            fail "not what it allocates"
    done
}

counts -- "$TMP/paths"
# Allocators that keep a profile of their own meanwhile: what they need for it does not count.
jemalloc=$(ldconfig -p | awk '$1 == "libjemalloc.so.2" && !n++ { print $NF }')
tcmalloc=$(ldconfig -p | awk '$1 == "libtcmalloc.so.4" && !n++ { print $NF }')
own=MALLOC_CONF=prof:true,lg_prof_sample:0,prof_prefix:$TMP/own
[ -z "$jemalloc" ] || counts -- env LD_PRELOAD="$jemalloc" "$own" "$TMP/paths"
[ -z "$tcmalloc" ] || counts -- env LD_PRELOAD="$tcmalloc" HEAPPROFILE="$TMP/own" "$TMP/paths"
