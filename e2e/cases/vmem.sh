#!/bin/bash
# Private memory that is mapped and unmapped, by function, to the byte: launched, static, attached; together it is by how
# much VmData in /proc has changed.
set -euo pipefail
. e2e/lib.sh
need_root
need go
"$XPROF" check | grep -qE '^ok +vmem ' || skip "this kernel cannot tell of mapped memory"

# Lines FUNCTION MAPPED UNMAPPED, of a profile.
seen() { # PROFILE
    GOTOOLCHAIN=local go tool pprof -symbolize=none -raw "$1" 2>/dev/null | awk '
        /^Samples:/ { getline; if ($0 !~ /mapped\/bytes(\[dflt\])? unmapped\/bytes/) exit 1; next }
        /^Locations$/ { places = 1; next }
        /^Mappings$/ { places = 0 }
        !places && /^ *[0-9]+ +[0-9]+:/ {
            n++; split($0, half, ":"); split(half[1], v, " "); stack[n] = half[2]
            mapped[n] = v[1]; unmapped[n] = v[2]; next }
        places && /^ *[0-9]+:/ { id = $1; sub(/:/, "", id); name[id] = $0; next }
        places { name[id] = name[id] $0 }
        END {
            for (i = 1; i <= n; i++) {
                k = split(stack[i], ids, " "); who = "others"
                for (j = 1; j <= k; j++)
                    if (match(name[ids[j]], /with_[a-z]+|in_thread/)) who = substr(name[ids[j]], RSTART, RLENGTH)
                got[who] += mapped[i]; gone[who] += unmapped[i]
            }
            for (who in got) printf "%s %.0f %.0f\n", who, got[who], gone[who]
        }' | sort
}

compare() { # WHAT
    seen "$TMP/x.pb.gz" | grep -v '^others' >"$TMP/seen" || true
    { grep -v ' 0 0$' "$TMP/own" || true; } | sort >"$TMP/expected"
    [ -s "$TMP/expected" ] || fail "$1: the program did not run"
    diff "$TMP/expected" "$TMP/seen" >&2 || fail "$1: not what was mapped"
    expect .lost.sum == 0
    echo "$1: equal"
}

build_target mapped -g -pthread
OUT=static build_target mapped -g -pthread -static
for program in mapped static; do
    record -e vmem -o "$TMP/x.pb.gz" -- "$TMP/$program" >"$TMP/own"
    compare "$program, launched"
    "$TMP/$program" 4 >"$TMP/own" &
    pid=$!
    record -e vmem -p $pid -d 7s -o "$TMP/x.pb.gz"
    wait $pid
    compare "$program, attached"
done

# While it goes on, threads of a program map and unmap what they like: together it is what /proc says.
cat >"$TMP/threads.c" <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
static void *work(void *seed)
{
    unsigned state = (unsigned)(size_t)seed;
    void *kept[64] = {0};
    size_t size[64];
    for (int i = 0; i < 20000; i++) {
        int k = rand_r(&state) % 64;
        if (kept[k])
            munmap(kept[k], size[k]);
        size[k] = 4096u * (1 + (unsigned)rand_r(&state) % 100);
        kept[k] = mmap(NULL, size[k], PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    return NULL;
}
int main(void)
{
    pthread_t t[4];
    sleep(3);
    for (size_t i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, work, (void *)(i + 1));
    for (size_t i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    sleep(30);
}
END
gcc -O1 -pthread -o "$TMP/threads" "$TMP/threads.c"
"$TMP/threads" &
pid=$!
at_exit "kill $pid"
data() { awk '/VmData/ { print $2 * 1024 }' /proc/$pid/status; }
before=$(data)
record -e vmem -p $pid -d 10s -o "$TMP/x.pb.gz"
after=$(data)
change=$(seen "$TMP/x.pb.gz" | awk '{ n += $2 - $3 } END { printf "%.0f", n }')
[ "$change" = $((after - before)) ] || fail "VmData has changed by $((after - before)) bytes, $change were seen"
