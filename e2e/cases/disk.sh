#!/bin/bash
# Requests of disks: bytes, requests and time are what the kernel's own books say, by who submitted them.
set -euo pipefail
. e2e/lib.sh
need_root
need go losetup

# A disk of its own, so that nobody else uses it; in the tree's file system: that of $TMP may be in memory.
file=$(mktemp "$PWD/disk.XXXXXX")
at_exit "rm -f '$file'"
head -c 256M /dev/zero >"$file"
disk=$(losetup -f --show "$file" 2>/dev/null) || skip "no loop device can be set up"
at_exit "losetup -d $disk"
name=${disk#/dev/}

# What the kernel has counted of it: bytes read and written, requests and their milliseconds, of reads and of writes.
books() {
    awk -v d="$name" '$3 == d { printf "%.0f %.0f %d %d %d %d\n", $6 * 512, $10 * 512, $4, $8, $7, $11 }' /proc/diskstats
}

# What a profile has of it, by label: read, written, requests, time, queued.
seen() { # PROFILE
    GOTOOLCHAIN=local go tool pprof -symbolize=none -raw "$1" 2>/dev/null | awk -v d="$name" '
        /^Samples:/ { getline; for (i = 1; i <= NF; i++) { sub(/\/.*/, "", $i); column[$i] = i } next }
        /^Locations$/ { places = 1; next }
        /^Mappings$/ { places = 0 }
        !places && /^ *[0-9]+ +[0-9]+.*:/ && !/:\[/ { n++; split($0, half, ":"); value[n] = half[1]; stack[n] = half[2] }
        places && /^ *[0-9]+:/ { id = $1; sub(/:/, "", id); frame[id] = $0 }
        END {
            for (i = 1; i <= n; i++) {
                k = split(stack[i], ids, " ")
                split(value[i], v, " ")
                if (!match(frame[ids[1]], "\\[[a-z-]+ " d "\\]")) continue
                label = substr(frame[ids[1]], RSTART + 1, RLENGTH - length(d) - 3)
                key = label
                r[key] += v[column["disk_read"]]; w[key] += v[column["disk_written"]]
                q[key] += v[column["disk_requests"]]; t[key] += v[column["disk_time"]]
                u[key] += v[column["disk_queued"]]
            }
            for (key in q) printf "%s %d %d %d %d %d\n", key, r[key], w[key], q[key], t[key], u[key]
        }'
}

# All that a profile has, beside the books before and after: bytes and requests are equal, times nearly.
compare() { # PROFILE BEFORE AFTER
    seen "$1" >"$TMP/seen"
    cat "$TMP/seen"
    awk -v before="$2" -v after="$3" '
        { r += $2; w += $3; t += $5; u += $6
          if ($1 == "read") reads += $4; else writes += $4
          if ($6 > $5) { bad = 1; print "queued for longer than it took" } }
        END {
            split(before, b, " "); split(after, a, " ")
            ms = a[5] - b[5] + a[6] - b[6]
            printf "books: read %d written %d, %d reads, %d writes, %d ms\n", a[1] - b[1], a[2] - b[2], a[3] - b[3],
                a[4] - b[4], ms
            if (r != a[1] - b[1] || w != a[2] - b[2]) { bad = 1; print "not the bytes" }
            if (reads != a[3] - b[3] || writes != a[4] - b[4]) { bad = 1; print "not the requests" }
            off = t / 1e6 - ms
            # the kernel ends its time when pages are unlocked, a little later
            if (off > 2 + ms / 100 || -off > 2 + ms / 15) { bad = 1; print "not the time: " t / 1e6 " ms" }
            exit bad
        }' "$TMP/seen" || fail "not what /proc/diskstats has"
}

# shellcheck disable=SC2016 # a shell of its own expands it
work='
dd if=/dev/zero of=$0 bs=1M count=64 oflag=direct
dd if=$0 of=/dev/null bs=64k count=512 iflag=direct
dd if=/dev/zero of=$0 bs=4k count=8192 seek=16384 conv=fsync'

before=$(books)
record -e disk -o "$TMP/x.pb.gz" -- sh -c "$work" "$disk" 2>"$errors"
expect .lost.request == 0
expect .lost.sum == 0
compare "$TMP/x.pb.gz" "$before" "$(books)"
for stack in "write;.*\[write $name\]" "read;.*\[read $name\]" "fsync;.*\[write $name\]" "fsync;.*\[flush $name\]"; do
    expect_stack "dd;.*$stack"
done

counts() {
    has_program xp_on_done && sleep 1 # until it is attached
}

# Of a process that runs already, and only of that.
# shellcheck disable=SC2016 # of the inner shell
read_later='echo ready; read -r _ && exec dd if="$0" of=/dev/null bs=16k skip="$1" count="$2" iflag=direct'
mkfifo "$TMP/other"
sh -c "$read_later" "$disk" 1000 100 <"$TMP/other" >/dev/null 2>&1 &
other=$!
exec 4>"$TMP/other"
at_exit "kill -KILL $other"
record_at_gate counts 0 -e disk -o "$TMP/x.pb.gz" -- sh -c "echo >&4; $read_later" "$disk" 0 1000
exec 4>&-
wait $other
seen "$TMP/x.pb.gz" | grep -q '^read 16384000 0 1000 ' || fail "not what the process has read"

# What the kernel writes later is named so; all that is done at the same time by others is there, too.
before=$(books)
record -e disk -a -d 60s -o "$TMP/x.pb.gz" &
recorder=$!
at_exit "kill \$(pgrep -P $recorder) 2>/dev/null"
await counts
dd if=/dev/zero of="$disk" bs=64k count=512 2>/dev/null & # the last one to close the disk would write
exec 9<"$disk"
wait $!
sync
after=$(books)
kill -INT "$xprof"
wait "$recorder" || fail "the recording ended with $?"
exec 9<&-
expect .lost.request == 0
expect .lost.sum == 0
compare "$TMP/x.pb.gz" "$before" "$after"
grep -q '^write-back 0 [1-9]' "$TMP/seen" || fail "no write-back"
