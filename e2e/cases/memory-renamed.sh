#!/bin/bash
# A library that changes on the disk (a link, new permissions) while a program uses it, and is seen again when the program
# maps something, is attached to once: no free is called a double free, and no allocation counts twice.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need go
need_kernel 6.6 "uprobe_multi links"

libc=$(ldd /bin/true | awk '/libc.so/ { print $3 }')
cp -L "$libc" "$TMP/libc.so.6"
cat >"$TMP/user.c" <<'END'
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    int loaded = 0;
    for (int i = 0; i < 300; i++) {
        void *volatile p = malloc(100);
        free(p);
        if (!loaded && !access(argv[1], F_OK))
            loaded = dlopen("libm.so.6", RTLD_NOW) != NULL;
        usleep(50000);
    }
    return !loaded;
}
END
gcc -O1 -fno-builtin -o "$TMP/user" "$TMP/user.c"
for event in badfree memory; do
    rm -f "$TMP/go" "$TMP/link"
    LD_LIBRARY_PATH=$TMP "$TMP/user" "$TMP/go" &
    pid=$!
    at_exit "kill $pid"
    { sleep 4 && ln "$TMP/libc.so.6" "$TMP/link" && touch "$TMP/go"; } &
    exact=()
    [ $event != memory ] || exact=(--memory-exact)
    record -e $event "${exact[@]}" -p $pid -d 9s -o "$TMP/x.pb.gz"
    kill $pid
    if [ $event = badfree ]; then
        [ ! -s "$profile" ] || fail "right frees are called wrong"
        continue
    fi
    allocated=$(GOTOOLCHAIN=local go tool pprof -sample_index=alloc_objects -top -symbolize=none "$TMP/x.pb.gz" 2>/dev/null |
        awk '$6 ~ /malloc$/ { print $1; exit }')
    echo "$allocated blocks in 9 s"
    ((allocated > 100 && allocated < 190)) || fail "$allocated blocks were counted in 9 s, at most 20 per second"
done
