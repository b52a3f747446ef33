#!/bin/bash
# Another tool has a uprobe that counts references at a place of an allocator, where the kernel refuses any other: a
# recording says so, counts it, and sees the allocator as soon as that tool has ended; so does an agent.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need go readelf
need_kernel 6.6 "uprobe_multi links"
. e2e/agent/lib.sh

# Its malloc is its own, lest the other tool's probe is in everybody's.
cat >"$TMP/own.c" <<'END'
#include <stddef.h>
#include <unistd.h>
static char blocks[1 << 20];
static size_t used;
volatile unsigned short counter = 1;
__attribute__((noinline, patchable_function_entry(1))) void *malloc(size_t n) // a nop, where probes are put
{
    __asm__ volatile("" ::: "memory");
    used = (used + n) % (sizeof(blocks) / 2);
    return blocks + used;
}
int main(void)
{
    for (;;) {
        void *volatile p = malloc(100000);
        (void)p;
        usleep(20000);
    }
}
END
gcc -O1 -fno-builtin -fcf-protection=none -no-pie -o "$TMP/own" "$TMP/own.c"
build_target counted
offset_of() { # SYMBOL: in the file
    local address kind offset from size
    address=$((16#$(readelf -Ws "$TMP/own" | awk -v name="$1" '$NF == name && !n++ { print $2 }')))
    while read -r kind offset from _ size _; do
        [ "$kind" = LOAD ] || continue
        if ((address >= from && address < from + size)); then echo $((address - from + offset)); fi
    done < <(readelf -Wl "$TMP/own")
}
"$TMP/own" &
pid=$!
at_exit "kill $pid"

blocks() { # in the profile
    GOTOOLCHAIN=local go tool pprof -sample_index=alloc_objects -top -symbolize=none "$TMP/x.pb.gz" 2>/dev/null |
        awk '$6 == "malloc" { n = $1 } END { print n + 0 }'
}

record -e memory --memory-exact -p $pid -d 2s -o "$TMP/x.pb.gz"
[ "$(blocks)" -gt 20 ] || fail "without the other tool, $(blocks) blocks are seen"
expect .probes_refused == 0
"$TMP/counted" "$TMP/own" "$(offset_of malloc)" "$(offset_of counter)" >"$TMP/ready" &
other=$!
at_exit "kill $other"
await grep -q ready "$TMP/ready"
record -e memory --memory-exact -p $pid -d 2s -o "$TMP/x.pb.gz"
grep 'kernel refuses' "$errors" || fail "nothing is said"
[ "$(grep -c 'kernel refuses' "$errors")" = 1 ] || fail "it is said more than once"
grep -q "refuses probes in $TMP/own (Invalid argument).*count references.*end it" "$errors" || fail "not why, or what to do"
expect .probes_refused == 1
[ "$(blocks)" = 0 ] || fail "$(blocks) blocks were seen all the same"

start_agent --events memory
is_refused() { [ "$(metric xprof_probes_refused_total)" = 1 ]; }
sleep 10 # until all that runs is attached to
await is_refused
kill $other
seen() { has_function host/own malloc; }
sleep 9
await seen
end_agent
grep -q "refuses probes in $TMP/own" "$errors" || fail "the agent says nothing"
