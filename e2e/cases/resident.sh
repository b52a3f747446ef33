#!/bin/bash
# Resident memory that grows and goes away, by function: launched and attached; together it is what the kernel says. What
# the kernel takes from others because memory is short is not returned by who needs it.
set -euo pipefail
. e2e/lib.sh
need_root
need go

build_target resident -g
file=$(mktemp "$PWD/resident.XXXXXX")
at_exit "rm -f '$file'"

# What each function has grown by, and what it says; and what all has, less what went away.
compare() { # PROFILE OWN LEFT: MB that are left at the end, at most
    GOTOOLCHAIN=local go tool pprof -symbolize=none -raw "$1" >"$TMP/raw" 2>/dev/null
    awk -v left="$3" '
        FILENAME == ARGV[1] { own[$1] = $2; next }
        /^Locations$/ { places = 1; next }
        /^Mappings$/ { places = 0 }
        !places && /^ *[0-9]+ +[0-9]+:/ {
            n++; split($0, half, ":"); split(half[1], v, " "); stack[n] = half[2]
            g[n] = v[1]; r[n] = v[2]; next }
        places && /^ *[0-9]+:/ { id = $1; sub(/:/, "", id); name[id] = $0; next }
        places { name[id] = name[id] $0 }
        END {
            for (i = 1; i <= n; i++) {
                k = split(stack[i], ids, " "); who = ""
                for (j = 1; j <= k; j++)
                    if (match(name[ids[j]], /with_[a-z]+/)) who = substr(name[ids[j]], RSTART, RLENGTH)
                sort = match(name[ids[1]], /\[(anon|file|shared)\]/) ? substr(name[ids[1]], RSTART, RLENGTH) : "none"
                grown[who] += g[i]; back[who] += r[i]; sorts[who " " sort] += g[i]; all += g[i] - r[i]
                if (sort == "none") bad = 1
            }
            for (f in own) {
                off = grown[f] - own[f]
                printf "%s: grown %d MB, returned %d MB, own %d MB\n", f, grown[f] / 1048576, back[f] / 1048576,
                    own[f] / 1048576
                checked++
                if (off > own[f] / 50 + 524288 || -off > own[f] / 50 + 524288) { bad = 1; print f ": wrong" }
            }
            if (sorts["with_file [file]"] < 63e6 || sorts["with_shared [shared]"] < 63e6 ||
                sorts["with_huge [anon]"] < 255e6) { bad = 1; print "wrong sorts" }
            printf "%d KB are left\n", all / 1024
            exit bad || checked < 7 || all > left * 1048576 || all < -left * 1048576
        }' "$2" "$TMP/raw" || fail "not what grew and shrank"
}

record -e rss -o "$TMP/x.pb.gz" -- "$TMP/resident" "$file" >"$TMP/own"
expect .lost.sum == 0
expect .lost.scratch == 0
compare "$TMP/x.pb.gz" "$TMP/own" 4

"$TMP/resident" "$file" 4 >"$TMP/own" &
pid=$!
record -e rss -p $pid -d 12s -o "$TMP/x.pb.gz"
wait $pid
compare "$TMP/x.pb.gz" "$TMP/own" 8

# While a process holds it: what has grown is what /proc says.
cat >"$TMP/hold.c" <<'END'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(void)
{
    char *p = malloc(200 << 20);
    sleep(3);
    memset(p, 1, 200 << 20);
    sleep(8);
    return p[5];
}
END
gcc -O1 -o "$TMP/hold" "$TMP/hold.c"
"$TMP/hold" &
pid=$!
before=$(awk '/VmRSS/ { print $2 }' /proc/$pid/status)
record -e rss -p $pid -d 6s -o "$TMP/x.pb.gz"
after=$(awk '/VmRSS/ { print $2 }' /proc/$pid/status)
kill $pid
grown=$(GOTOOLCHAIN=local go tool pprof -symbolize=none -raw "$TMP/x.pb.gz" 2>/dev/null |
    awk '/^ *[0-9]+ +[0-9]+:/ { sub(/:/, "", $2); n += $1 - $2 } END { printf "%d", n / 1024 }')
awk -v a="$grown" -v b=$((after - before)) 'BEGIN { exit !(a > b * 0.98 && a < b * 1.02) }' ||
    fail "it grew by $((after - before)) KB, $grown KB were seen"

# A program that needs more memory than its cgroup may have, and takes away what another one there has mapped.
group=/sys/fs/cgroup/memory/xprof.$$
limit=memory.limit_in_bytes
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
    group=/sys/fs/cgroup/xprof.$$
    limit=memory.max
fi
mkdir "$group" && at_exit "rmdir $group"
[ -e "$group/$limit" ] || skip "no cgroup limits memory here"
echo $((160 << 20)) >"$group/$limit"
cat >"$TMP/short.c" <<'END'
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    size_t size = 100 << 20, sum = 0;
    volatile char *p = argc > 1 ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, open(argv[1], O_RDONLY), 0) : malloc(size);
    sleep(argc > 1 ? 0 : 4);
    for (size_t i = 0; i < size; i += 4096)
        sum += argc > 1 ? p[i] : (p[i] = 1);
    sleep(30);
    return (int)sum;
}
END
gcc -O1 -o "$TMP/short" "$TMP/short.c"
head -c $((100 << 20)) /dev/zero >"$file"
sync "$file"
dd of="$file" oflag=nocache conv=notrunc count=0 2>/dev/null
sh -c "echo \$\$ >$group/cgroup.procs; exec $TMP/short $file" &
other=$!
sh -c "echo \$\$ >$group/cgroup.procs; exec $TMP/short" &
pid=$!
at_exit "kill $other $pid; sleep 0.5"
sleep 2
file_of() { awk '/RssFile/ { print $2 }' /proc/$other/status; }
before=$(file_of)
record -e rss -p $pid -o "$TMP/x.collapsed" -o "$TMP/x.pb.gz" -d 6s
after=$(file_of)
[ $((before - after)) -gt 10000 ] || skip "the kernel did not take memory from another process ($before KB, then $after KB)"
returned=$(GOTOOLCHAIN=local go tool pprof -symbolize=none -raw "$TMP/x.pb.gz" 2>/dev/null |
    awk '/^ *[0-9]+ +[0-9]+:/ { sub(/:/, "", $2); n += $2 } END { printf "%d", n / 1024 }')
echo "$((before - after)) KB were taken from another process; $returned KB are called returned"
[ "$returned" -lt 4000 ] || fail "$returned KB of another process are called returned"
