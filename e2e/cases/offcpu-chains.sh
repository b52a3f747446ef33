#!/bin/bash
# Of a program that is blocked in 40 known call chains, the profile shows each one complete, with its time: launched, and
# attached. The runtimes of Go and Python, whose threads wait below their schedulers, are whole, too.
set -euo pipefail
. e2e/lib.sh
need_root
need bpftool go jq python3

gcc -O2 -fPIC -shared -fomit-frame-pointer -o "$TMP/libchains.so" e2e/targets/chains_lib.c
build_target chains -g -pthread -fno-optimize-sibling-calls -L"$TMP" -lchains -Wl,-rpath,"$TMP"

# The frames between main and the kernel of each way and of each kind of wait, as the C library has them.
expect_chains() { # OWN
    awk -v start='^[^;]*;_start;__libc_start_main[^;]*;(__libc_start_call_main;)?main;' '
        function times(n, frame,    all) {
            while (n-- > 0) all = all frame ";"
            return all
        }
        function frames(way) {
            if (way == "sort") return "way_sort;.*qsort[^;]*;(.*msort[^;]*;)*compare;"
            if (way == "library") return "way_library;" times(6, "lib_call")
            if (way == "recursion") return "way_recursion;" times(41, "down")
            if (way == "handler") return "way_handler;[^;]*raise;.*;handler;"
            return "way_straight;"
        }
        NR == FNR { value = $NF; sub(/ [0-9]+$/, ""); line[FNR] = $0; ns[FNR] = value; n = FNR; next }
        {
            split($1, part, "_"); all = whole = 0
            for (i = 1; i <= n; i++)
                if (line[i] ~ ";chain_" $1 ";") {
                    all += ns[i]
                    if (line[i] ~ start "chain_" $1 ";" frames(part[1]) "on_" part[2] ";")
                        whole += ns[i]
                }
            wrong = whole < 0.99 * $2 || whole > 1.01 * $2
            if (wrong)
                printf "%s: %.3f ms, whole %+.2f %%, in all %+.2f %%\n", $1, $2 / 1e6, 100 * (whole / $2 - 1),
                    100 * (all / $2 - 1)
            bad += wrong; chains++
        }
        END { print chains - bad " chains of " chains " are right"; exit bad || chains != 40 }' "$profile" "$1" ||
        fail "chains are missing, incomplete, or have other times"
}

# At most so much of the time has no whole stack.
expect_whole_time() { # PERCENT
    awk -v most="$1" '{ all += $NF; if (/\[stack not taken\]|\[cut: /) cut += $NF }
        END { printf "%.3f %% of %.1f s without a whole stack\n", 100 * cut / all, all / 1e9; exit !(all && cut <= most / 100 * all) }' \
        "$profile" || fail "too much time has no whole stack"
}

record -e offcpu -- "$TMP/chains" 25 >"$TMP/own"
expect_chains "$TMP/own"
expect_whole_time 1

# Attached between two rounds: the program starts when the recording has begun.
mkfifo "$TMP/go"
{ read -r <"$TMP/go" && exec "$TMP/chains" 25; } >"$TMP/own" &
chains=$!
record_in_background -e offcpu,cpu -p $chains
await follows_waits
echo >"$TMP/go"
wait $chains
wait "$recorder"
expect_chains "$TMP/own"

# Go's network poller: threads of the runtime wait below its scheduler.
GOTOOLCHAIN=local go build -o "$TMP/netpoll" e2e/targets/netpoll.go
record -e offcpu -- "$TMP/netpoll" >/dev/null
expect_whole_time 1
expect_stack 'runtime\.findRunnable;runtime\.netpoll;(.*;)?\[epoll\]'

# Python's threads wait for the interpreter's lock.
record -e offcpu -- "$(python3 -c 'import sys; print(sys.executable)')" e2e/targets/gil.py
expect_whole_time 1
expect_stack 'clone3?;start_thread;(.*;)?(take_gil;)?(.*;)?\[lock\]'
