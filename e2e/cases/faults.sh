#!/bin/bash
# Page faults are counted one by one, by function and sort of memory, as the kernel counts them: launched and attached.
set -euo pipefail
. e2e/lib.sh
need_root
need go
"$XPROF" check | grep -qE '^ok +faults ' || skip "this kernel cannot tell of page faults"

build_target faults -g
# In the tree's file system: that of $TMP may be in memory, where no fault is a major one.
file=$(mktemp "$PWD/faults.XXXXXX")
at_exit "rm -f '$file'"
head -c 8192000 /dev/zero >"$file"
sync "$file"

# What each function has, beside what it says itself; the first calls of anything cost a few faults more.
compare() { # PROFILE OWN
    GOTOOLCHAIN=local go tool pprof -symbolize=none -raw "$1" >"$TMP/raw" 2>/dev/null
    awk '
        function off(a, b) { return a > b ? a - b : b - a }
        FILENAME == ARGV[1] { minor[$1] = $2; major[$1] = $3; next }
        /^Samples:/ { getline; for (i = 1; i <= NF; i++) { sub(/\/.*/, "", $i); column[$i] = i } next }
        /^Locations$/ { places = 1; next }
        /^Mappings$/ { places = 0 }
        !places && /^ *[0-9]+ +[0-9]+.*:/ && !/:\[/ {
            n++; split($0, half, ":"); split(half[1], v, " "); stack[n] = half[2]
            a[n] = v[column["minor"]]; b[n] = v[column["major"]]; t[n] = v[column["fault_time"]]
            if (off(t[n], v[column["minor_time"]] + v[column["major_time"]])) { bad = 1; print "times do not add up" }
            next }
        places && /^ *[0-9]+:/ { id = $1; sub(/:/, "", id); name[id] = $0; next }
        places { name[id] = name[id] $0 }
        END {
            for (i = 1; i <= n; i++) {
                k = split(stack[i], ids, " "); who = ""
                for (j = 1; j <= k; j++)
                    if (match(name[ids[j]], /with_[a-z]+/)) who = substr(name[ids[j]], RSTART, RLENGTH)
                sort = match(name[ids[1]], /\[(anon|file|shared|stack|heap)\]/) ? \
                    substr(name[ids[1]], RSTART + 1, RLENGTH - 2) : "none"
                mi[who] += a[i]; ma[who] += b[i]; time[who] += t[i]; sorts[who " " sort] += a[i] + b[i]
                if (sort == "none" && t[i]) { bad = 1; print "no sort: " name[ids[1]] }
            }
            sort_of["with_anon"] = sort_of["with_read"] = "anon"
            sort_of["with_shared"] = "shared"; sort_of["with_file"] = "file"
            for (f in minor) {
                checked++
                printf "%s: %d minor, %d major, %.1f us each; own %d, %d\n", f, mi[f], ma[f],
                    time[f] / (mi[f] + ma[f] + !(mi[f] + ma[f])) / 1000, minor[f], major[f]
                if (off(mi[f], minor[f]) > 5 || off(ma[f], major[f]) > 5) { bad = 1; print f ": wrong" }
                if (sorts[f " " sort_of[f]] < 1990) { bad = 1; print f ": wrong sort" }
                if (time[f] < 100 * (mi[f] + ma[f])) { bad = 1; print f ": too fast" }
            }
            if (major["with_file"] < 1000) { bad = 1; print "no major faults to be seen" }
            exit bad || checked < 4
        }' "$2" "$TMP/raw" || fail "not the faults"
}

record -e faults -o "$TMP/x.pb.gz" -- "$TMP/faults" "$file" >"$TMP/own"
expect '.lost["ring-full"]' == 0
expect .lost.sum == 0
expect_complete 99
compare "$TMP/x.pb.gz" "$TMP/own"

"$TMP/faults" "$file" 3 >"$TMP/own" &
pid=$!
record -e faults,cpu -p $pid -d 6s -o "$TMP/x.pb.gz"
wait $pid
compare "$TMP/x.pb.gz" "$TMP/own"
