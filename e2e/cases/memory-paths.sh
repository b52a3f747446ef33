#!/bin/bash
# A program with many more distinct call paths than the kernel side has room for in an interval, all in a moment: no
# allocation is lost.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need go
need_kernel 6.6 "uprobe_multi links"
build_target paths -O1 -fno-builtin -fno-optimize-sibling-calls

record -e memory --memory-exact -o "$TMP/x.pb.gz" -- "$TMP/paths"
expect .lost.sum == 0
expect .lost.wait == 0
for value in alloc_objects=65536 inuse_space=6553600; do
    GOTOOLCHAIN=local go tool pprof -sample_index=${value%=*} -symbolize=none -raw "$TMP/x.pb.gz" 2>/dev/null |
        awk -v name="${value%=*}" -v own="${value#*=}" '
            /^Samples:/ { getline; for (i = 1; i <= NF; i++) if (index($i, name) == 1) column = i; next }
            /^Locations$/ { exit }
            /^ *[0-9]+ +[0-9]+.*:/ && !/:\[/ { split($0, half, ":"); split(half[1], v, " "); n += v[column]; stacks++ }
            END { printf "%s: %d at %d paths\n", name, n, stacks; exit n != own || stacks < 65536 }' ||
        fail "not what it allocates"
done
