#!/bin/bash
# Bytes that io_uring moves are exact by the function that submits them, also those of registered files and buffers, of
# sockets, and of requests that complete many times. A polled ring has no stack of its own: its bytes are there.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need go
grep -aq btf_trace_io_uring_submit_req /sys/kernel/btf/vmlinux || skip "no tracepoint io_uring_submit_req"
. e2e/io/lib.sh

build_target rings
"$TMP/rings" "$TMP" >"$TMP/own" || skip "io_uring cannot be used: $(tail -n 1 "$TMP/own")"

record -e file,net -o "$TMP/x.pb.gz" -- "$TMP/rings" "$TMP" >"$TMP/own"
expect '.lost["ring-full"] + .lost.sum + .lost.request + .lost.wait' == 0
compare file "$TMP/x.pb.gz" "$TMP/own" read written
compare net "$TMP/x.pb.gz" "$TMP/own" received sent
expect_complete 99

# What waits for data has the time until it comes: from submission to completion.
cat >"$TMP/waits.c" <<'END'
#define main rings_main
#include "rings.c"
#undef main
int main(void)
{
    struct ring r;
    int p[2];
    open_ring(&r, 0);
    check(!pipe(p), "pipe");
    struct io_uring_sqe d = op(IORING_OP_READ, p[0], buffer, 500, -1);
    submit(&r, &d);
    usleep(300000);
    check(write(p[1], "x", 1) == 1 && complete(&r) == 1, "pipe");
    return 0;
}
END
gcc -O2 -w -I e2e/targets -o "$TMP/waits" "$TMP/waits.c"
record -e file -o "$TMP/x.pb.gz" -- "$TMP/waits"
ns=$(sum_of "$TMP/x.pb.gz" file_time '^submit$')
((ns > 300000000 && ns < 400000000)) || fail "it waited for $ns ns, not 300 ms"

# The thread of the kernel that polls a ring has no user stack.
record -e file,net --label file -o "$TMP/x.pb.gz" -- "$TMP/rings" "$TMP" sqpoll >"$TMP/own"
expect '.lost["ring-full"] + .lost.sum + .lost.request + .lost.wait' == 0
for value in read:4 written:5; do
    own=$(awk -v n="${value#*:}" '$1 == "file" { sum += $n } END { print sum }' "$TMP/own")
    seen=$(sum_of "$TMP/x.pb.gz" "${value%:*}" "\[(${files:0:7}|pipefs)\]")
    # the loader reads some, and the program writes what it says
    ((seen >= own && seen < own + 6000)) || fail "${value%:*}: $seen bytes, not $own"
done
GOTOOLCHAIN=local go tool pprof -tags -sample_index=written "$TMP/x.pb.gz" 2>/dev/null | grep -q "$TMP/rings.data" ||
    fail "requests have no file"
