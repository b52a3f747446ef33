#!/bin/bash
# Pages that were read ahead are judged one by one: what a program has read is used, the rest that came is unused or, if
# it was mapped, unjudged; together they are what came. Launched and attached.
set -euo pipefail
. e2e/lib.sh
. e2e/pprof.sh
need_root
need go
"$XPROF" check | grep -qE '^ok +readahead ' || skip "this kernel has no tracepoints on readahead"

build_target readahead -g
# In the tree's file system: that of $TMP may be in memory, where nothing is read ahead.
file=$(mktemp "$PWD/readahead.XXXXXX")
at_exit "rm -f '$file'"

# Each function's pages, beside what it says itself: name, touched, there. One in a hundred may leave and come again.
compare() { # PROFILE OWN
    GOTOOLCHAIN=local go tool pprof -symbolize=none -raw "$1" >"$TMP/raw" 2>/dev/null
    awk '
        function off(a, b) { return a > b ? a - b : b - a }
        FILENAME == ARGV[1] { touched[$1] = $2; there[$1] = $3; next }
        /^Samples:/ { getline; for (i = 1; i <= NF; i++) { sub(/\/.*/, "", $i); column[$i] = i } next }
        /^Locations$/ { places = 1; next }
        /^Mappings$/ { places = 0 }
        !places && /^ *[0-9]+ +[0-9]+.*:/ && !/:\[/ {
            n++; split($0, half, ":"); split(half[1], v, " "); stack[n] = half[2]
            u[n] = v[column["used"]]; w[n] = v[column["unused"]]; o[n] = v[column["unjudged"]]; next }
        places && /^ *[0-9]+:/ { id = $1; sub(/:/, "", id); name[id] = $0; next }
        places { name[id] = name[id] $0 } # the callers of what is inlined
        END {
            for (i = 1; i <= n; i++) {
                k = split(stack[i], ids, " "); who = ""
                for (j = k; j >= 1; j--) # the outermost one
                    if (who == "" && match(name[ids[j]], /with_[a-z0-9_]+/))
                        who = substr(name[ids[j]], RSTART, RLENGTH)
                used[who] += u[i]; unused[who] += w[i]; open_[who] += o[i]
            }
            for (f in there) {
                used[f] += 0; unused[f] += 0; open_[f] += 0; mapped = f ~ /mapped/; slack = 2 + there[f] / 100
                wrong = ""
                if (f == "with_write" ? used[f] + unused[f] + open_[f] : \
                    off(used[f] + unused[f] + open_[f], there[f]) > slack) wrong = "what came"
                if (!mapped && off(used[f], touched[f]) > slack) wrong = "what is used"
                if (!mapped && open_[f]) wrong = "what is unjudged"
                if (mapped && used[f] + open_[f] < touched[f] - slack) wrong = "what may be used"
                if (f ~ /sequential|large|advised/ && unused[f]) wrong = "what is unused"
                if (f ~ /pairs|mapped_random|willneed/ && unused[f] < there[f] / 4) wrong = "what is wasted"
                checked++
                printf "%s: used %d unused %d unjudged %d, touched %d of %d\n", f, used[f], unused[f], open_[f],
                    touched[f], there[f]
                if (wrong) { bad = 1; print f ": " wrong " is wrong" }
            }
            exit bad || checked < 10
        }' "$2" "$TMP/raw" || fail "not what became of the pages"
}

record -e readahead -o "$TMP/x.pb.gz" -- "$TMP/readahead" "$file" 64 >"$TMP/own"
expect .lost.page == 0
expect .lost.sum == 0
expect_complete 99
compare "$TMP/x.pb.gz" "$TMP/own"
# What is said of them: reads and mapped files have different remedies, and what is used has none.
grep '^readahead: ' "$errors" >"$TMP/advice" || fail "nothing is said of what was read in vain"
cat "$TMP/advice"
grep -qE '[ ;]with_pairs;.*read.*: [0-9.]+ of [0-9.]+ MB were read in vain: posix_fadvise\(POSIX_FADV_RANDOM\)' "$TMP/advice" ||
    fail "no advice for reads"
grep -qE '[ ;]with_mapped_random(;[^;]*)?: .*: madvise\(MADV_RANDOM\)' "$TMP/advice" || fail "no advice for mapped files"
! grep -q sequential "$TMP/advice" || fail "advice for what is used"

# By file, on request: all that this program reads is of one.
record -e readahead --label file -o "$TMP/x.pb.gz" -- "$TMP/readahead" "$file" 64 >"$TMP/own"
expect .lost.label == 0
compare "$TMP/x.pb.gz" "$TMP/own"
sums_by_label "$TMP/x.pb.gz" file used unused >"$TMP/files"
cat "$TMP/files"
profile_rows "$TMP/x.pb.gz" | awk -F '\t' -v file="file:[$file]" '
    $2 ~ /with_/ { n++; named += index($3, file) > 0 && $2 ~ /\[[a-z0-9]+\]/ }
    END { exit n < 10 || n != named }' || fail "stacks without their file"

# Of a process that runs already.
counts() {
    has_program xp_on_page && sleep 1 # until it is attached
}
record_at_gate counts 0 -e readahead,file -o "$TMP/x.pb.gz" -- "$TMP/readahead" "$file" 64 wait
grep -v '^ready' "$TMP/out" >"$TMP/own"
compare "$TMP/x.pb.gz" "$TMP/own"

# What is still in the cache at the end is unjudged, unless it was read.
head -c 16M /dev/zero >"$file"
sync "$file"
dd if="$file" iflag=nocache count=0 2>/dev/null
record -e readahead -o "$TMP/x.pb.gz" -- dd if="$file" of=/dev/null bs=4k count=2
GOTOOLCHAIN=local go tool pprof -symbolize=none -sample_index=unjudged -raw "$TMP/x.pb.gz" 2>/dev/null |
    awk '/^ *[0-9]+ +[0-9]+ +[0-9]+:/ { used += $1; open_ += $3 } END { exit !(used >= 2 && open_ > 0) }' ||
    fail "what dd has not read yet is judged"
