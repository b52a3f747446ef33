#!/bin/bash
# --memory-exact equals a program's own books to the byte and the block, under several C libraries and allocators,
# launched and attached; sampled, it does so on average.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need go
need_kernel 6.6 "uprobe_multi links"
. e2e/memory/lib.sh

build_target heap -pthread
OUT=heap-static build_target heap -pthread -static
exact glibc "$TMP/heap" 4000
exact "static glibc" "$TMP/heap-static" 4000
if command -v musl-gcc >/dev/null; then
    CC=musl-gcc OUT=heap-musl build_target heap -pthread
    CC=musl-gcc OUT=heap-musl-static build_target heap -pthread -static
    exact musl "$TMP/heap-musl" 4000
    exact "static musl" "$TMP/heap-musl-static" 4000
fi
for library in libjemalloc.so.2 libtcmalloc.so.4 libtcmalloc_minimal.so.4 libmimalloc.so.2; do
    path=$(ldconfig -p | awk -v name="$library" '$1 == name && !n++ { print $NF }')
    [ -z "$path" ] || exact "$library" env LD_PRELOAD="$path" "$TMP/heap" 4000
done

# A process that runs already: what it had allocated before is unknown, also when it goes or grows.
"$TMP/heap" 4000 4 >"$TMP/own" &
pid=$!
sleep 1
record -e memory --memory-exact -p $pid -o "$TMP/x.pb.gz"
wait $pid
compare attached

# Sampled: what is allocated is right on average, for any sizes, as long as all the time is seen.
sum() { # FILE: of bytes allocated, and in use
    awk '{ a += $3; b += $5 } END { print a + 0, b + 0 }' "$1"
}
for _ in 1 2 3 4 5; do
    record -e memory --memory-period 4K --memory-max-cost off -o "$TMP/x.pb.gz" -- "$TMP/heap" 20000 >"$TMP/own"
    seen "$TMP/x.pb.gz" >"$TMP/seen"
    echo "$(sum "$TMP/own") $(sum "$TMP/seen")"
done | awk '{ own += $1; seen += $3 } END { r = seen / own; print "sampled: " r; exit r < 0.98 || r > 1.02 }' ||
    fail "the sampled bytes are not those allocated"

# Children of a launched command count from their first allocation on, whether they execute a program or not.
cat >"$TMP/forks.c" <<'END'
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) static void path_1(void)
{
    for (int i = 0; i < 100; i++) {
        void *volatile p = malloc(1000);
        (void)p;
    }
}
int main(int argc, char **argv)
{
    path_1();
    for (int i = 0; i < 3; i++)
        if (!fork()) {
            path_1();
            _exit(0);
        }
    while (wait(NULL) > 0)
        ;
    return 0;
}
END
gcc -O1 -fno-inline -o "$TMP/forks" "$TMP/forks.c"
echo "path_1 800 800000 800 800000" >"$TMP/own"
record -e memory --memory-exact -o "$TMP/x.pb.gz" -- sh -c "$TMP/forks; $TMP/forks"
compare "forks and programs"
