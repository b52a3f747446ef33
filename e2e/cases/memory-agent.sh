#!/bin/bash
# What a process of an agent holds is in each interval, also when it allocates nothing meanwhile; what it has given back,
# or held before it executed another program, is in none that follows.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need go
need_kernel 6.6 "uprobe_multi links"
. e2e/agent/lib.sh

# Allocates 8 blocks so large that each is sampled, once the file `go` is there; holds them for 10 s, frees half of
# them, and holds the rest until it executes another program: itself, which allocates once, and holds that.
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
__attribute__((noinline)) static void again(void)
{
    blocks[0] = malloc(30 << 20);
    __asm__ volatile("" ::: "memory");
}
int main(int argc, char **argv)
{
    if (argc > 2) {
        sleep(3);
        again();
        sleep(60);
        return 0;
    }
    while (access(argv[1], F_OK))
        usleep(100000);
    fill();
    sleep(10);
    for (int i = 0; i < 4; i++)
        free(blocks[i]);
    __asm__ volatile("" ::: "memory");
    sleep(10);
    execl(argv[0], argv[0], argv[1], "again", (char *)NULL);
    return 1;
}
END
gcc -O1 -o "$TMP/holder" "$TMP/holder.c"
"$TMP/holder" "$TMP/go" &
holder=$!
at_exit "kill $holder"
INTERVAL=2s start_agent --events memory

# The bytes in use by a function in each interval, in order.
held() { # FUNCTION
    local f
    for f in $(compgen -G "$out/host/holder/*.pb.gz" | sort); do
        GOTOOLCHAIN=local go tool pprof -raw -symbolize=none "$f" 2>/dev/null | awk -v function_="$1" '
            /^Locations/ { on = 0; places = 1; next }
            on && /^ *[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+:/ { n++; v[n] = $4; sub(/:.*/, "", v[n]); sub(/^[^:]*: */, ""); at[n] = " " $0 " " }
            /^Samples:/ { getline; on = 1; next }
            places && index($0, " " function_ " ") { id = $1; sub(/:/, "", id); fill[id] }
            END { for (i = 1; i <= n; i++) for (id in fill) if (index(at[i], " " id " ")) sum += v[i]; print sum + 0 }'
    done
}
seen() { # FUNCTION BYTES TIMES: in so many intervals at least
    [ "$(held "$1" | grep -cx "$2")" -ge "$3" ]
}
sleep 15 # until it is attached to: a tenth of a second for each process of the machine
touch "$TMP/go"
await seen fill 83886080 3
await seen fill 41943040 3
await seen again 31457280 3
kill $holder
end_agent
[ "$(held fill | tail -n 2 | head -n 1)" = 0 ] || fail "what the program of before held is still in use"
held fill | awk '$1 == 41943040 { half = 1 } half && $1 > 41943040 { exit 1 }' || fail "what was freed is back"
