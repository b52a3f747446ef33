#!/bin/bash
# Probes of many kinds on programs of other people: what is counted is what the program, or somebody else who counts,
# says of itself; and the stacks are whole.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need_kernel 6.6 'uprobe_multi links'
need openssl python3

checked=0
same() { # WHAT SEEN TRUTH [PERCENT]
    echo "$1: $2, in truth $3"
    is "($2 - $3) ^ 2" '<=' "($3 * ${4:-0} / 100) ^ 2" || fail "$1: $2, not $3"
    checked=$((checked + 1))
}
# record() of a running server, while a COMMAND runs.
while_it() { # EBPF_PROGRAM OPTION... -- COMMAND...
    local attached=$1 options=()
    shift
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    record "${options[@]}" &
    recorder=$!
    at_exit "kill \$(pgrep -P $recorder) 2>/dev/null"
    await has_program "$attached"
    sleep 0.5 # until it is attached
    "$@" >"$TMP/client" 2>&1 || fail "$*: $(tail -n 3 "$TMP/client")"
    sleep 0.2
    kill -INT "$xprof"
    wait "$recorder" || fail "a recording"
    echo 1 >"$TMP/x.sample"
}
exact() { # OPTION... -- COMMAND...
    record "$@"
    echo 1 >"$TMP/x.sample"
}
listens() {
    ss -Htln "sport = :$port" | grep -q .
}
seen() { # REGEX
    samples_of "$1"
}

# PostgreSQL logs its statements, and how long each took.
of_postgres() {
    . e2e/postgres/lib.sh
    postgres=$(command -v postgres)
    postgres=$(readlink -f "$postgres")
    start_postgres -c log_min_duration_statement=0 -c log_destination=stderr -c autovacuum=off
    sql() { # SQL
        as_postgres psql -h "$TMP/pg" -qAtc "$1" postgres
    }
    as_postgres pgbench -h "$TMP/pg" -i -s 1 -q postgres >/dev/null 2>&1
    bench() { # CLIENTS TRANSACTIONS
        as_postgres pgbench -h "$TMP/pg" -n -c "$1" -t "$2" postgres
    }
    statements() { # REGEX: how many of them PostgreSQL has logged
        grep -ciE "duration: .*statement: *($1)" "$TMP/log"
    }
    : >"$TMP/log"
    while_it xp_on_function -e "uprobe:$postgres:ExecutorRun" -p "$server" -- bench 2 100
    same 'uprobe of postgres: statements that execute' "$(seen '.*PostmasterMain;.*ExecutorRun')" \
        "$(statements 'select|insert|update')"
    expect_complete 99
    expect_share 99 'postgres;(_start|main);.*PortalRun.*;ExecutorRun'

    : >"$TMP/log"
    while_it xp_on_function -e "uretprobe:$postgres:pg_parse_query" --filter 'retval != 0' -p "$server" -- bench 1 100
    same 'uretprobe of postgres: what is parsed' "$(seen '.*PostmasterMain;.*')" "$(statements .)"

    : >"$TMP/log"
    timing() { as_postgres psql -h "$TMP/pg" -qAt postgres -c 'select pg_sleep(0.2)' -c 'select pg_sleep(0.3)'; }
    while_it xp_on_call -e "uprobe-latency:$postgres:PortalRun" -p "$server" -- timing
    own=$(awk '/duration: .*pg_sleep/ { sub(/.*duration: /, ""); ns += $1 * 1e6 } END { printf "%.0f", ns }' "$TMP/log")
    same 'uprobe-latency of postgres: ns, by its log' "$(seen '.*PortalRun')" "$own" 3

    if readelf -n "$postgres" 2>/dev/null | grep transaction__commit >/dev/null; then
        while_it xp_on_usdt -e "usdt:$postgres:postgresql:transaction__commit" -p "$server" -- bench 2 100
        same 'usdt of postgres: commits' "$(seen '.*PostmasterMain;.*')" 200 4 # its start commits, too
    fi

    kill -QUIT "$server"
}
if command -v pgbench >/dev/null && compgen -G "/usr/lib/postgresql/*/bin" >/dev/null; then of_postgres; fi

# What is sent by TLS, is what arrives.
openssl req -x509 -newkey rsa:2048 -nodes -keyout "$TMP/key" -out "$TMP/cert" -subj /CN=localhost 2>/dev/null
free_ports
head -c 3000000 /dev/zero | tr '\0' x >"$TMP/sent"
mkfifo "$TMP/commands"
exec 4<>"$TMP/commands" # it ends with them
openssl s_server -accept "$port" -key "$TMP/key" -cert "$TMP/cert" -quiet >"$TMP/arrived" 2>"$TMP/server" <&4 &
tls=$!
at_exit "kill $tls"
await listens
# shellcheck disable=SC2016
exact -e uprobe:libssl.so.3:SSL_write --value arg3:bytes -- \
    sh -c '(sleep 0.5; cat "$2") | openssl s_client -connect "localhost:$1" -quiet -no_ign_eof' - "$port" "$TMP/sent" \
    >"$TMP/client" 2>&1 || true
all_arrived() { [ "$(stat -c %s "$TMP/arrived")" = 3000000 ]; }
await all_arrived
kill $tls
same 'uprobe of libssl: bytes' "$(seen 'openssl;.*;SSL_write')" "$(stat -c %s "$TMP/arrived")"
expect_complete 99

# Files by name, of cat.
mkdir "$TMP/files"
for ((i = 0; i < 50; i++)); do echo $i >"$TMP/files/$i"; done
exact -e syscall:openat --filter "filename == \"$TMP/files/*\"" -- cat "$TMP"/files/* >"$TMP/out"
same 'openat of cat, by name' "$(seen 'cat;.*')" "$(wc -l <"$TMP/out")"

# Memory of the kernel: perf counts the same calls at the same time. A pipe takes more than 900 bytes.
python=/usr/bin/python3
work='import os
for i in range(1000):
    for f in os.pipe(): os.close(f)'
if command -v perf >/dev/null; then
    exact -e tracepoint:kmem:kmalloc --filter 'comm == "python3"' -- \
        perf stat -x, -o "$TMP/stat" -e kmem:kmalloc $python -c "$work"
    truth=$(awk -F, '/kmalloc/ { print $1 }' "$TMP/stat")
    same 'kmalloc of python: calls' "$(seen 'python3;.*')" "$truth" 1 # perf does not count all of execve
    exact -e tracepoint:kmem:kmalloc --value bytes_alloc:bytes --filter 'comm == "python3"' -- \
        perf record -q -c 1 -m 1024 -o "$TMP/perf.data" -e kmem:kmalloc $python -c "$work"
    truth=$(perf script -i "$TMP/perf.data" -F comm,trace 2>/dev/null |
        awk '$1 == "python3" && match($0, /bytes_alloc=[0-9]+/) { sum += substr($0, RSTART + 12, RLENGTH - 12) }
             END { print sum }')
    same 'kmalloc of python: bytes' "$(seen 'python3;.*')" "$truth" 1
fi

# The CPU time of a thread, of which its own file says as much, with what it took before it was Python; and its page faults.
exact -e tracepoint:sched:sched_stat_runtime --value runtime:nanoseconds -- $python -c 'import os
def ran(): return int(open("/proc/self/schedstat").read().split()[0])
begin = ran()
for i in range(8000000): pass
print(ran() - begin, ran(), flush=True)
os._exit(0)' >"$TMP/own"
read -r loop whole <"$TMP/own"
runtime=$(seen 'python3.*')
echo "sched_stat_runtime of python: $runtime ns, in truth from $loop to $whole"
is "$runtime" '>=' "0.95 * $loop" || fail "that is too little"
is "$runtime" '<=' "1.05 * $whole" || fail "that is too much"
exact -e perf:software/config=2/ --period 1 -- $python -c 'import os, resource
x = [bytearray(9000) for i in range(20000)]
usage = resource.getrusage(resource.RUSAGE_SELF)
print(usage.ru_minflt + usage.ru_majflt, flush=True)
os._exit(0)' >"$TMP/own"
same 'page faults of python' "$(seen 'python3.*')" "$(<"$TMP/own")" 2

# What Python tells those who audit it.
program=$(readlink -f $python)
if readelf -n "$program" 2>/dev/null | grep audit >/dev/null; then
    exact -e "usdt:$program:python:audit" --filter 'arg1 == "shop.sold"' -- $python -c 'import sys
for i in range(123): sys.audit("shop.sold", i); sys.audit("shop.open")'
    same 'usdt of python: its audit events' "$(seen '.*')" 123
fi

# Bytes that SQLite writes, by the file that the kernel keeps of it.
read -r -d '' work <<'END' || true
import sqlite3, sys
def written(): return int(open('/proc/self/io').read().split()[3])
db, before = sqlite3.connect(sys.argv[1]), written()
db.execute('create table t (a, b)')
for i in range(50):
    db.execute('insert into t values (?, ?)', (i, 'x' * 1000))
    db.commit()
print(written() - before)
END
exact -e tracepoint:syscalls:sys_exit_pwrite64 --value ret:bytes -- $python -c "$work" "$TMP/db" >"$TMP/own"
same 'pwrite64 of SQLite: bytes' "$(seen 'python3.*')" "$(<"$TMP/own")"

# Time in a system call; who executes, by the new name.
exact -e syscall:clock_nanosleep:latency -- sh -c 'for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.05; done'
same 'clock_nanosleep of sleep: ns' "$(seen 'sleep;.*')" 500000000 15
exact -e tracepoint:sched:sched_process_exec --filter 'comm == "true"' -- \
    sh -c 'for i in 1 2 3 4 5 6 7 8 9 10; do /bin/true; /bin/false; done; :'
same 'exec of true' "$(seen 'true;.*')" 10

# Collections of garbage, which Java logs.
jvm=
! command -v java >/dev/null || jvm=$(compgen -G "$(dirname "$(readlink -f "$(command -v java)")")/../lib/server/libjvm.so" || true)
if [ -n "$jvm" ] && readelf -n "$jvm" 2>/dev/null | grep gc__begin >/dev/null; then
    echo 'class Gc { public static void main(String[] a) { for (int i = 0; i < 9; i++) System.gc(); } }' >"$TMP/Gc.java"
    exact -e "usdt:$jvm:hotspot:gc__begin" -- java -XX:+UseSerialGC -Xlog:gc "$TMP/Gc.java" >"$TMP/own"
    same 'usdt of java: collections' "$(seen '.*')" "$(grep -c 'GC([0-9]*) Pause' "$TMP/own")"
fi

echo "$checked counts are right"
[ "$checked" -ge 8 ] || fail "only $checked"
