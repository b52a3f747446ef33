#!/bin/bash
# What a process of an agent holds is in each interval, also when it allocates nothing meanwhile; what it has given back
# is in none that follows.
set -euo pipefail
. e2e/lib.sh
need_root
need go
need_kernel 6.6 "uprobe_multi links"
. e2e/agent/lib.sh

# Allocates 8 blocks so large that each is sampled, once the file `go` is there; holds them for 10 s, frees half of
# them, and holds the rest.
cat >"$TMP/holder.c" <<'END'
#include <stdlib.h>
#include <unistd.h>
static void *blocks[8];
__attribute__((noinline)) static void fill(void)
{
    for (int i = 0; i < 8; i++)
        blocks[i] = malloc(10 << 20);
    __asm__ volatile("" ::: "memory");
}
int main(int argc, char **argv)
{
    while (access(argv[1], F_OK))
        usleep(100000);
    fill();
    sleep(10);
    for (int i = 0; i < 4; i++)
        free(blocks[i]);
    __asm__ volatile("" ::: "memory");
    sleep(60);
    return 0;
}
END
gcc -O1 -o "$TMP/holder" "$TMP/holder.c"
"$TMP/holder" "$TMP/go" &
holder=$!
at_exit "kill $holder"
INTERVAL=2s start_agent --events memory

# The bytes in use by fill in each interval, in order.
held() {
    local f
    for f in $(compgen -G "$out/host/holder/*.pb.gz" | sort); do
        GOTOOLCHAIN=local go tool pprof -raw -symbolize=none "$f" 2>/dev/null | awk '
            /^Locations/ { on = 0; places = 1; next }
            on && /^ *[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+:/ { n++; v[n] = $4; sub(/:.*/, "", v[n]); sub(/^[^:]*: */, ""); at[n] = " " $0 " " }
            /^Samples:/ { getline; on = 1; next }
            places && / fill / { id = $1; sub(/:/, "", id); fill[id] }
            END { for (i = 1; i <= n; i++) for (id in fill) if (index(at[i], " " id " ")) sum += v[i]; print sum + 0 }'
    done
}
seen() { # BYTES TIMES: in so many intervals at least
    [ "$(held | grep -cx "$1")" -ge "$2" ]
}
sleep 15 # until it is attached to: a tenth of a second for each process of the machine
touch "$TMP/go"
await seen 83886080 3
await seen 41943040 3
kill $holder
end_agent
held | awk '$1 == 41943040 { half = 1 } half && $1 > 41943040 { exit 1 }' || fail "what was freed is back"
