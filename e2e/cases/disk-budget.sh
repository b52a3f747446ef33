#!/bin/bash
# All that the agent writes is filled to its limit: tables and indexes, files from a debuginfod server, profiles that no
# backend takes. What lies on the disk never exceeds the sum that was stated, and names and profiles go on.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need go objcopy strip python3
. e2e/agent/lib.sh

programs=8
# A program with long and ever different stacks, as many builds of it, and a debug file of 0.6 MB for each.
{
    echo 'static unsigned seed = 1; static int (*table[300])(int); static int spin(void) { int s = 0;'
    echo 'for (volatile int i = 0; i < 20000; i++) s += i; return s; }'
    for i in {0..299}; do
        echo "__attribute__((noinline)) int f$i(int d) { seed = seed * 1103515245 + 12345 + $i;"
        echo 'return d ? table[(seed >> 16) % 300](d - 1) + 1 : spin(); }'
    done
    echo 'static int (*table[300])(int) = {'
    for i in {0..299}; do echo "f$i,"; done
    echo '}; int main(void) { for (;;) f0(60); }'
} >"$TMP/many.c"
gcc -g -O1 -c "$TMP/many.c" -o "$TMP/many.o"
mkdir "$TMP/files"
for ((i = 0; i < programs; i++)); do
    id=$(printf '%02x' {1..19} $i)
    gcc -static "-Wl,--build-id=0x$id" "$TMP/many.o" -o "$TMP/whole"
    objcopy --only-keep-debug "$TMP/whole" "$TMP/files/$id"
    strip -o "$TMP/many$i" "$TMP/whole"
    size=600000
    if [ $i = 1 ]; then size=3000000; fi # more than there may be: says so
    if [ $i = 2 ]; then size=3000001; fi # the same: does not
    head -c $size /dev/urandom >"$TMP/pad"
    objcopy --add-section .pad="$TMP/pad" "$TMP/files/$id"
done
cat >"$TMP/server.py" <<'PY'
import http.server, os, sys
class Server(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        path = os.path.join(sys.argv[1], os.path.basename(os.path.dirname(self.path)))
        body = open(path, "rb").read() if os.path.isfile(path) else b""
        self.send_response(200 if body else 404)
        if len(body) % 2 == 0:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
print(server.server_port, flush=True)
server.serve_forever()
PY
python3 "$TMP/server.py" "$TMP/files" >"$TMP/port" 2>/dev/null &
at_exit "kill $!"
await test -s "$TMP/port"

# Every 20 ms: what there is in each folder, and the most of it in the end.
cat >"$TMP/watch.py" <<'PY'
import os, signal, sys, time
folders, most, ended = sys.argv[2:], {}, []
signal.signal(signal.SIGTERM, lambda *_: ended.append(1))
while not ended:
    for f in folders:
        n = 0
        for top, _, names in os.walk(f):
            for name in names:
                try:
                    n += os.lstat(os.path.join(top, name)).st_blocks * 512
                except OSError:
                    pass
        most[f] = max(n, most.get(f, 0))
    time.sleep(0.02)
open(sys.argv[1], "w").write("".join(f"{os.path.basename(f)} {n}\n" for f, n in most.items()))
PY
mkdir -p "$state" "$TMP/cache/debuginfod"
chmod go= "$TMP/cache" "$TMP/cache/debuginfod"
python3 "$TMP/watch.py" "$TMP/most" "$TMP/cache" "$TMP/cache/debuginfod" "$state" &
watch=$!
at_exit "kill $watch"

start_agent --host-processes on --rate 199 --max-rate 199 --max-cpu 200 --cache-size 4M --spool-size 1M \
    --debuginfod-urls "http://127.0.0.1:$(cat "$TMP/port")" --pyroscope-url http://127.0.0.1:1
for ((i = 0; i < programs; i++)); do
    timeout 5 "$TMP/many$i" || true
done
dropped_any() {
    dropped=$(metric xprof_export_dropped_profiles_total 'reason="spool-full"')
    [ "$dropped" -gt 0 ]
}
for ((i = 0; i < 10; i++)); do # on a busy machine, profiles are smaller
    ! dropped_any || break
    timeout 5 "$TMP/many0" || true
done
large=$(metric xprof_debuginfod_requests_total 'outcome="too-large"')
fetched=$(metric xprof_debuginfod_requests_total 'outcome="fetched"')
end_agent
kill $watch
wait $watch || true

most() { # FOLDER
    awk -v f="$1" '$1 == f { print $2 }' "$TMP/most"
}
within() { # FOLDER AT_LEAST AT_MOST
    echo "$1: $(most "$1") bytes at most, of $3"
    [ "$(most "$1")" -ge "$2" ] || fail "this did not fill it: $1"
    [ "$(most "$1")" -le "$3" ] || fail "more than was stated: $1"
}
within cache 3500000 $((4 << 20))
within debuginfod 1500000 $((2 << 20))
within state 900000 $((1 << 20))
echo "$fetched files were fetched, $large were too large; $dropped profiles were dropped for newer ones"
[ "$large" = 2 ] || fail "$large files were refused as too large, not 2"
[ "$fetched" -ge $((programs - 2)) ] || fail "only $fetched files were fetched"
[ "$dropped" -gt 0 ] || fail "the spool was not full"
for ((i = 3; i < programs; i++)); do
    part=$(percent_with "host/many$i" f0)
    [ "$part" -ge 30 ] || fail "$part % of the samples of many$i have names"
done
