#!/bin/bash
# Probes of an agent's configuration, which pods ask for by name, against a real containerd: functions are found in each
# container's own file of that name, calls are counted exactly, for who asks and nobody else.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need_kernel 5.15 'cookies'
. e2e/agent/lib.sh
. e2e/faults/lib.sh
. e2e/probes/agent.sh

# Calls a function so often when a file is there, and again when another one is; what the function is called, and where it
# is in the file, differ.
cat >"$TMP/crate.c" <<'END'
#include <fcntl.h>
#include <unistd.h>
PADDING
__attribute__((noinline, noclone)) long WEIGH(const char *what, long pounds)
{
    __asm__ volatile("" ::: "memory");
    return what[0] == 'f' ? -pounds : pounds;
}
static const char *volatile read_before = "/etc/hostname-of-crate"; /* a program in the kernel waits for no page */
static void count(long n)
{
    for (long i = 1; i <= n; i++)
        WEIGH(i % 4 ? "apples" : "feathers", i);
    for (int i = 0; i < 7; i++)
        close(open(read_before, O_RDONLY));
}
int main(void)
{
    access(read_before, F_OK);
    while (access("/tmp/first", F_OK))
        usleep(20000);
    count(100);
    while (access("/tmp/second", F_OK))
        usleep(20000);
    count(1000);
    for (;;)
        pause();
}
END
build() { # NAME FUNCTION PADDING
    gcc -O1 -g -static "-DWEIGH=$2" "-DPADDING=$3" -o "$TMP/$1" "$TMP/crate.c"
}
build alike weigh ''
build apart weigh 'void pad(void) { __asm__ volatile(".fill 4000, 1, 0x90"); }'
build without lift ''

cat >"$TMP/x.yaml" <<'END'
events:
  - cpu
  - {name: crate-bytes, probe: "uprobe:crate:wei*", value: arg2, unit: bytes}
  - name: crate-lost
    probe: "uretprobe:/tmp/crate:weigh"
    filter: retval < 0
  - {name: opens, probe: "syscall:openat", filter: 'filename == "/etc/hostname-of-*"'}
END
start_containerd
# By perf events, as before Linux 6.6; agent-probe-kinds has links.
INTERVAL=2s start_agent --probe-links perf --kube cri --cri-socket "$socket" --config "$TMP/x.yaml"
loaded() { # NAME
    holds_program "$1" "$agent_pid"
}
! loaded xp_on_function || fail "a probe is loaded before anybody asks for it"

pod_of early 1 alike xprof.io/profile=crate-bytes,opens
pod_of other 2 apart xprof.io/profile=crate-bytes,crate-lost
pod_of silent 3 alike xprof.io/profile=cpu
pod_of without 4 without xprof.io/profile=crate-bytes

await followed crate-bytes 2
await followed crate-lost 1
await loaded xp_on_tracepoint
sleep 0.5 # until it is attached
call() { # FILE
    local p
    for p in "${!pids[@]}"; do : >"/proc/${pids[$p]}/root/tmp/$1"; done
}
call first

await counted early crate_bytes/bytes weigh 5050
await counted early crate_bytes_count/count weigh 100
await counted early opens/count count 7
await counted other crate_bytes/bytes weigh 5050
await counted other crate_lost/count count 25 # the caller is the leaf
call second
await counted early crate_bytes/bytes weigh 505550
await counted early crate_bytes_count/count weigh 1100
await counted early opens/count count 14
await counted other crate_lost/count count 275
sleep 4
counted early crate_bytes_count/count weigh 1100 || fail "calls are counted twice"
for pod in silent without; do
    ! profiles_of "prod/$pod/main" | grep -E 'crate_(bytes|lost)|opens/' || fail "$pod has events that it did not ask for"
done
[ "$(sum_of other opens/count count)" = 0 ] || fail "a pod has an event that another one asked for"
[ "$(metric xprof_events_total 'event="crate-bytes"')" = 2200 ] || fail "the metrics do not count the probe"
[ "$(metric xprof_probe_files_without_function_total 'event="crate-bytes"')" = 1 ] ||
    fail "the file without the function is not counted"
[ "$(grep -c 'event crate-bytes: the file crate that process .* has no function wei\*' "$errors")" = 1 ] ||
    fail "the file without the function is not named once"

# One that comes later, in a root directory of its own again; and one that goes.
pod_of late 5 apart xprof.io/profile=crate-bytes
await followed crate-bytes 3
call first
await counted late crate_bytes_count/count weigh 100
cri rm "${pods[other]}"
await followed crate-bytes 2
await followed crate-lost 0

# Other probes need a start; a mistake is named and changes nothing.
sed -i 's/retval < 0/retval < -1/' "$TMP/x.yaml"
says() { # TEXT
    grep -q -- "$1" "$errors"
}
await says 'events: the new probes take effect at the next start'
sed -i 's/retval < -1/retval <> -1/' "$TMP/x.yaml"
await says "configuration not reloaded.*x.yaml:4: probe crate-lost: filter 'retval <> -1'"

for pod in early late without; do cri rm "${pods[$pod]}"; done
await followed crate-bytes 0
end_agent
