#!/bin/bash
# Real programs move as many bytes as their own books and the kernel's say: dd, fio, postgres, curl and nginx. So do the
# times of fio's calls, and what it moves by io_uring.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root

PATH=$PATH:/usr/sbin
need go fio nginx curl
. e2e/io/lib.sh

# Runs a command, and writes rchar and wchar of /proc/PID/io when it has ended, before it is forgotten.
cat >"$TMP/books.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    char line[256];
    siginfo_t info;
    pid_t pid = fork();
    if (!pid) {
        execvp(argv[2], argv + 2);
        _exit(127);
    }
    if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT))
        return 1;
    snprintf(line, sizeof(line), "cp /proc/%d/io '%s'", pid, argv[1]);
    return system(line) || info.si_status;
}
END
gcc -O1 -o "$TMP/books" "$TMP/books.c"
books() { # FIELD FILE
    awk -v f="$1:" '$1 == f { print $2 }' "$2"
}

near() { # WHAT SEEN OWN PERCENT
    echo "$1: $2 seen, $3 by its own books"
    is "$2 > 0 ? ($2 > $3 ? $2 - $3 : $3 - $2) * 100 : 1e30" '<=' "$3 * $4" || fail "$1: $2, not $3"
}

of_process() { # PROFILE VALUE PROCESS [REGEX]
    sum_of "$1" "$2" "${4:-}" -tagfocus="process=^$3\$"
}

dir=$(mktemp -d "$PWD/program-io.XXXXXX") # in the tree's file system: that of $TMP may be in memory
at_exit "rm -rf '$dir'"

# dd: from a file to a file, by large and by odd blocks.
head -c 20M /dev/urandom >"$dir/from"
record -e file -o "$TMP/x.pb.gz" -- "$TMP/books" "$TMP/io" dd if="$dir/from" of="$dir/to" bs=50001 2>/dev/null
near "dd reads" "$(of_process "$TMP/x.pb.gz" read dd)" "$(books rchar "$TMP/io")" 0.1
near "dd writes" "$(of_process "$TMP/x.pb.gz" written dd)" "$(books wchar "$TMP/io")" 0.1

# fio: its own bytes, and mean latency times count. Calls that take long, because what xprof does after each is in fio's;
# and so is what fio does to the data before, unless it is told not to.
run_fio() { # ENGINE OPTION...
    local engine=$1
    shift
    record -e file -o "$TMP/x.pb.gz" -- fio --name=job --filename="$dir/data" --size=192M --bs=4M --direct=1 --rw=randrw \
        --ioengine="$engine" --scramble_buffers=0 --thread --output-format=json --output="$TMP/fio.json" "$@"
    for way in read:read write:written; do
        near "fio $engine ${way%:*}s" "$(sum_of "$TMP/x.pb.gz" "${way#*:}" "\\[direct ")" \
            "$(jq ".jobs[0].${way%:*}.io_bytes" "$TMP/fio.json")" 0
    done
    own=$(jq '.jobs[0] | .read.lat_ns.mean * .read.total_ios + .write.lat_ns.mean * .write.total_ios | round' "$TMP/fio.json")
    seen=$(sum_of "$TMP/x.pb.gz" file_time "\\[direct ")
}
fio --name=job --filename="$dir/data" --size=192M --bs=4M --rw=write --output=/dev/null
if fio --name=job --filename="$dir/data" --size=1M --bs=1M --direct=1 --rw=read --output=/dev/null 2>/dev/null; then
    run_fio psync
    near "ns of fio's calls" "$seen" "$own" 2
    if grep -aq btf_trace_io_uring_submit_req /sys/kernel/btf/vmlinux; then
        run_fio io_uring --iodepth=4
        near "ns of fio's requests" "$seen" "$own" 5
    fi
fi

# nginx and curl: bytes on the wire, of a page that is sent by sendfile and of one that is compressed.
head -c 5000000 /dev/urandom >"$dir/page.bin"
head -c 300000 /dev/urandom | od -x >"$dir/page.txt"
chmod 755 "$dir"
free_ports
cat >"$TMP/nginx.conf" <<CONF
daemon off;
user root;
worker_processes 1;
pid $TMP/nginx.pid;
error_log $TMP/error.log;
events { worker_connections 64; }
http {
    log_format bytes '\$bytes_sent';
    access_log $TMP/access.log bytes;
    sendfile on;
    gzip on;
    gzip_http_version 1.0;
    gzip_types text/plain;
    types { text/plain txt; }
    server { listen 127.0.0.1:$port; root $dir; }
}
CONF
cat >"$TMP/serve.sh" <<END
nginx -e "$TMP/error.log" -c "$TMP/nginx.conf" &
until curl -sf -o /dev/null "http://127.0.0.1:$port/page.txt"; do sleep 0.05; done
rm -f "$TMP/curl"
for page in page.bin page.txt page.bin; do
    exec -a curl-counted curl -s --http1.0 -H 'Accept-Encoding: gzip' -o /dev/null -w '%{size_download} %{size_header}\n' "http://127.0.0.1:$port/\$page" >>"$TMP/curl" &
    wait \$!
done
kill %1
wait
END
record -e net -o "$TMP/x.pb.gz" -- bash "$TMP/serve.sh"
near "nginx sends" "$(of_process "$TMP/x.pb.gz" sent nginx '\[tcp\]')" "$(awk '{ n += $1 } END { print n }' "$TMP/access.log")" 0
first=$(head -n 1 "$TMP/access.log")
near "curl receives" "$(($(of_process "$TMP/x.pb.gz" received curl '\[tcp\]') - first))" \
    "$(awk '{ n += $1 + $2 } END { print n }' "$TMP/curl")" 0
expect '.lost.sum + .lost.wait' == 0

# postgres: the process of one connection, that reads and writes a table which is larger than its buffers.
. e2e/postgres/lib.sh
need psql
start_postgres
mkfifo "$TMP/sql"
as_postgres psql -h "$TMP/pg" -qAt postgres <"$TMP/sql" >"$TMP/answers" 2>&1 &
exec 8>"$TMP/sql"
answers() { # NUMBER
    [ "$(wc -l <"$TMP/answers")" -ge "$1" ]
}
echo 'select pg_backend_pid();' >&8
await answers 1
backend=$(head -n 1 "$TMP/answers")
record -e file -p "$backend" -o "$TMP/x.pb.gz" &
recorder=$!
at_exit "kill \$(pgrep -P $recorder) 2>/dev/null"
await has_program xp_on_result
sleep 1
cp "/proc/$backend/io" "$TMP/before"
echo "create table t as select i, repeat('x', 500) from generate_series(1, 60000) i; select count(*) from t;" >&8
echo "copy t to '$dir/copy';" >&8
chmod 777 "$dir"
echo "select 'done';" >&8
await answers 3
cp "/proc/$backend/io" "$TMP/after"
kill -INT "$xprof"
wait "$recorder"
exec 8>&-
for way in rchar:read wchar:written; do
    field=${way%:*}
    near "postgres $field" "$(sum_of "$TMP/x.pb.gz" "${way#*:}")" \
        "$(($(books "$field" "$TMP/after") - $(books "$field" "$TMP/before")))" 0.1
done
