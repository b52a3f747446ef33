#!/bin/bash
# Memory of the kernel by call path: every object that a program is known to hold, and what of it was freed, also by
# other threads and after grace periods; sampled, the same on average.
set -euo pipefail
. e2e/lib.sh
need_root
need go
. e2e/pprof.sh

build_target kernel_memory -pthread
files=/dev/shm/xprof-e2e-$$ # a tmpfs
mkdir "$files" 2>/dev/null || skip "there is no tmpfs /dev/shm"
at_exit "rm -rf $files"

# Lines FUNCTION CACHE OBJECTS HELD BYTES, of a profile.
seen() { # PROFILE
    profile_rows "$1" | awk -F '\t' '
        NR == 1 {
            if ($0 !~ /kmem_alloc_objects kmem_alloc_space kmem_inuse_objects kmem_inuse_space/) exit 1
            next
        }
        {
            split($1, v, " "); k = split($2, frame, ";"); who = ""
            for (j = 1; j <= k; j++)
                if (match(frame[j], /(make|fill|widen)_[a-z]+/)) who = substr(frame[j], RSTART, RLENGTH)
            if (who == "" || !match(frame[1], /\[[^]]*\]/)) next
            key = who " " substr(frame[1], RSTART + 1, RLENGTH - 2)
            a[key] += v[1]; b[key] += v[2]; h[key] += v[3]
        }
        END { for (key in a) printf "%s %.0f %.0f %.0f\n", key, a[key], h[key], b[key] }' | sort
}

# Starts the program, which begins after some seconds, and records it.
run() { # COUNT OPTION...
    "$TMP/kernel_memory" "$1" "$files" 3 >"$TMP/own" &
    local pid=$!
    at_exit "kill -KILL $pid"
    shift
    record -e kmem "$@" -p $pid -d 7s -o "$TMP/x.pb.gz"
    kill -KILL $pid
    wait $pid 2>/dev/null || true
    rm -f "$files"/*
    expect '.lost | del(."stack-dump", ."file-event") | add' == 0
    seen "$TMP/x.pb.gz" >"$TMP/seen"
    cat "$TMP/seen"
    [ "$(wc -l <"$TMP/own")" -ge 6 ] || fail "the program did not run"
}

# Caches that are merged with others, or are not there, have another name here.
is_cache() { # NAME
    case $1 in pages | kmalloc-large) ;; *) [ -d "/sys/kernel/slab/$1" ] && [ ! -L "/sys/kernel/slab/$1" ] ;; esac
}

run 1000 --memory-exact
compared=0
while read -r function cache objects held; do
    is_cache "$cache" || continue
    compared=$((compared + 1))
    grep -q "^$function $cache $objects $held " "$TMP/seen" || fail "not $objects $cache of $function, of which $held are left"
done <"$TMP/own"
[ $compared -ge 4 ] || fail "only $compared caches could be compared"

# Sizes are those of /proc/slabinfo. Pages that became slabs are not there beside their objects.
size=$(awk '$1 == "dentry" { print $4 }' /proc/slabinfo)
awk -v size="$size" '$1 == "make_files" && $2 == "dentry" && $5 != 1000 * size { exit 1 }' "$TMP/seen" ||
    fail "objects of dentry do not have $size bytes"
awk '$1 != "fill_pipes" && $2 == "pages" { n += $3 } END { exit n > 20 }' "$TMP/seen" || fail "slabs count as pages, too"

# Sampled: pages are seen with a probability of 0.63, dentries with one of 0.05. Five standard deviations each.
run 8000 --memory-period 4K
while read -r function cache objects held; do
    is_cache "$cache" || continue
    awk -v f="$function" -v c="$cache" -v objects="$objects" -v held="$held" '
        function close_to(seen, true, p) { return (seen - true) ^ 2 <= 25 * (1 - p) / p * (true + 1) + 25 }
        $1 == f && $2 == c { found = 1; size = $5 / $3; p = 1 - exp(-size / 4096)
            if (!close_to($3, objects, p) || !close_to($4, held, p)) exit 1 }
        END { if (!found) exit 1 }' "$TMP/seen" || fail "$objects $cache of $function, of which $held are left, are too far off"
done <"$TMP/own"
