#!/bin/bash
# Probes of an agent's configuration beside calls and returns: USDT probes of each container's own file of a name, by
# arguments and behind a semaphore; how long functions take; events of a PMU.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need_kernel 6.6 'uprobe_multi links'
. e2e/agent/lib.sh
. e2e/faults/lib.sh
. e2e/probes/agent.sh

# Sleeps in a function, 20 times for 10 ms and 5 times for 40 ms, nests calls, and touches 3,000 fresh pages.
cat >"$TMP/lag.c" <<'END'
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
__attribute__((noinline, noclone)) int lag(int ms) { return usleep(ms * 1000); }
__attribute__((noinline, noclone)) int lag_twice(int ms) { return lag(ms) + lag(ms) + 1; }
__attribute__((noinline, noclone)) void touch(char *p)
{
    for (long i = 0; i < 3000; i++)
        p[i * 4096] = 1;
    __asm__ volatile("" ::: "memory");
}
int main(void)
{
    getchar();
    for (int i = 0; i < 10; i++)
        lag_twice(10);
    for (int i = 0; i < 5; i++)
        lag(40);
    touch(mmap(0, 3000 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    return 0;
}
END
gcc -O1 -g -static -o "$TMP/lag" "$TMP/lag.c"
gcc -O1 -g -static -o "$TMP/usdt" e2e/targets/usdt.c
# The same, with the sites elsewhere in the file, in another order.
(echo 'void pad(void) { __asm__ volatile(".fill 5000, 1, 0x90"); }' &&
    sed 's/^NOINLINE void rivers/__attribute__((section(".text.later"))) &/' e2e/targets/usdt.c) >"$TMP/moved.c"
gcc -O1 -g -static -o "$TMP/moved" "$TMP/moved.c"

cat >"$TMP/x.yaml" <<'END'
events:
  - cpu
  - {name: swims, probe: "usdt:crate:xprof:swim", value: arg1, unit: bytes}
  - {name: guards, probe: "usdt:/tmp/crate:xprof:guarded", filter: 'arg1 == "guard"'}
  - {name: floats, probe: "usdt:crate:xprof:wide", value: arg3}
  - {name: lags, probe: "uprobe-latency:crate:lag*"}
  - {name: long-lags, probe: "uprobe-latency:crate:lag", filter: 'latency > 30000000 && arg1 == 40'}
  - {name: page-touches, probe: "perf:software/config=0x2/"}
END
start_containerd
INTERVAL=2s start_agent --kube cri --cri-socket "$socket" --config "$TMP/x.yaml"

# It waits for a line, each time that it is run.
SHELL_OF='mkfifo /tmp/go; while :; do /tmp/crate go </tmp/go >/tmp/out; sleep 1; done' # until the writer has closed it
pod_of fixed 1 usdt xprof.io/profile=swims,guards,floats
pod_of moved 2 moved xprof.io/profile=swims,guards
pod_of slow 3 lag xprof.io/profile=lags,long-lags,page-touches
pod_of silent 4 usdt xprof.io/profile=cpu

# The program runs once its standard input has a writer, and goes on by a line.
declare -A lines
start() { # POD
    local fd
    await test -p "/proc/${pids[$1]}/root/tmp/go"
    exec {fd}>"/proc/${pids[$1]}/root/tmp/go"
    lines[$1]=$fd
}
finish() { # POD
    local fd=${lines[$1]}
    echo >&"$fd"
    exec {fd}>&-
}
for pod in fixed moved slow silent; do start "$pod"; done
await followed swims 2
await followed guards 2
await followed lags 1
await followed long-lags 1
sleep 2 # until the files are open, on a busy machine, too: programs end at once
for pod in fixed moved slow silent; do finish "$pod"; done

for pod in fixed moved; do
    await counted "$pod" swims/bytes rivers 5050
    await counted "$pod" swims_count/count rivers 100
    await counted "$pod" guards/count guarded 300
done
await counted slow lags_count/count main 35      # calls of both
await counted slow lags_count/count lag_twice 30 # with those of lag that it makes
await counted slow long_lags_count/count lag 5
within() { # POD TYPE FUNCTION FROM TO
    local sum
    sum=$(sum_of "$1" "$2" "$3")
    [ "$sum" -ge "$4" ] && [ "$sum" -le "$5" ]
}
within slow lags/nanoseconds main 600000000 1200000000 || fail "calls took 600 ms, not what is said"
within slow long_lags/nanoseconds lag 200000000 400000000 || fail "long calls took 200 ms, not what is said"
await within slow page_touches/count touch 2900 3100
said() { # POD TEXT
    [ "$(cat "/proc/${pids[$1]}/root/tmp/out")" = "ready
$2" ] || fail "$1 says \"$(cat "/proc/${pids[$1]}/root/tmp/out")\", not \"$2\""
}
said silent 'guarded 0' # the semaphore of a program that nobody asked about
said moved 'guarded 300'
! profiles_of prod/silent/main | grep -E 'swims|guards|lags' || fail "a pod has events that it did not ask for"
[ "$(grep -c 'event floats: the file crate .* has no USDT probe xprof:wide with the arguments' "$errors")" = 1 ] ||
    fail "sites without the argument are not named once"

# Once more, by another process of the same file.
for pod in fixed moved; do start "$pod"; done
sleep 2
for pod in fixed moved; do finish "$pod"; done
for pod in fixed moved; do
    await counted "$pod" swims/bytes rivers 10100
    await counted "$pod" guards/count guarded 600
done
for pod in "${!pids[@]}"; do cri rm "${pods[$pod]}"; done
await followed swims 0
end_agent
