#!/bin/bash
# A container runs through more files than one may have known at once: it has its share of them, and the neighbour that
# comes after it has whole stacks.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need go
. e2e/agent/lib.sh

files=5000 half=4096 # of all that can be known (bpf/xprof.h: XP_MAX_FILES)
build_target files -DFOREVER
OUT=victim build_target layout
mkdir "$TMP/many"
start_agent --host-processes off --rate 999 --max-rate 999 --max-cpu 100
make_container "$(printf 'ab%.0s' {1..32})"
(contained "$TMP/files" $files "$TMP/many") &
hog=$!
at_exit "kill $hog"
most=0
while [ ! -e "$TMP/many/$((files - 1))" ]; do
    known=$(metric xprof_files)
    most=$((known > most ? known : most))
    kill -0 $hog || fail "the container with many files has ended"
    sleep 0.1
done

make_container "$(printf 'cd%.0s' {1..32})"
(contained "$TMP/victim" 4000) &
await has_profiles host/cdcdcdcdcdcd
wait $!
full=$(metric xprof_stacks_total share-full)
end_agent
kill $hog
echo "$files files: $most known at once, $full stacks of their container cut"
[ "$full" -gt 0 ] || fail "no file was one too many for its container"
[ "$most" -lt $half ] || fail "it knew $most files: one container has more than its share"
part=$(percent_with host/cdcdcdcdcdcd main)
echo "$part % of the neighbour's stacks are whole"
[ "$part" -ge 99 ] || fail "more than its first ones are cut"
