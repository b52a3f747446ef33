#!/bin/bash
# A stripped program of a container whose debug file a real debuginfod has: off unless asked for; kept on the disk when
# it was fetched; what no server has is asked for once. A server that lies or breaks off is not believed.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need debuginfod python3 objcopy strip chroot curl

root=$TMP/root
chain='.*;main;around.*;between;innermost'
unset DEBUGINFOD_URLS
OUT=whole build_target inlines -g -static -Wl,--build-id=sha1
id=$(readelf -n "$TMP/whole" | sed -n 's/.*Build ID: //p')
mkdir -p "$root/bin" "$TMP/files"
strip -o "$root/bin/inlines" "$TMP/whole"
objcopy --only-keep-debug "$TMP/whole" "$TMP/files/whole.debug"

named() { # OPTION...
    CACHE=$TMP/cache record "$@" -- chroot "$root" /bin/inlines 300
    grep -q 'between;innermost' "$profile"
}

free_ports
debuginfod -p $port -d "$TMP/index" -t 0 -g 0 -F "$TMP/files" >"$TMP/log" 2>&1 &
server=$!
at_exit "kill $server"
url=http://127.0.0.1:$port
await curl -sf -o "$TMP/got" "$url/buildid/$id/debuginfo"
asked() { grep -c "/buildid/$id/debuginfo" "$TMP/log" || true; }
before=$(asked)

if named; then fail "a server was asked though nobody wanted it"; fi
[ "$(asked)" = "$before" ] || fail "a server was asked though nobody wanted it"
has_chain() {
    expect_stack "$chain" "$profile" 20
}
CACHE=$TMP/cache record_both has_chain --debuginfod-urls "$url" -- chroot "$root" /bin/inlines 300
[ "$(asked)" -gt "$before" ] || fail "the server's log has no request"
kill $server
wait $server || true
named --debuginfod-urls "$url" || fail "the file was not kept"
rm -r "$TMP/cache"
if named --debuginfod-urls "$url"; then fail "named without a server"; fi

# Servers at fault: another build's file, an end too early, nothing but errors.
OUT=other build_target inlines -g -O1 -static -Wl,--build-id=sha1
cat >"$TMP/server.py" <<'PY'
import http.server, sys
how, body = sys.argv[1], open(sys.argv[2], "rb").read()
class Fault(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        print(self.path, file=sys.stderr, flush=True)
        self.send_response({"gone": 404, "error": 500}.get(how, 200))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2 if how == "half" else None])
    def log_message(self, *_):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Fault)
print(server.server_port, flush=True)
server.serve_forever()
PY
for how in lie half error gone; do
    file=$TMP/files/whole.debug
    if [ $how = lie ]; then file=$TMP/other; fi
    rm -f "$TMP/port"
    python3 "$TMP/server.py" $how "$file" >"$TMP/port" 2>"$TMP/asked" &
    server=$!
    at_exit "kill $server"
    await test -s "$TMP/port"
    rm -rf "$TMP/cache"
    DEBUGINFOD_URLS=http://127.0.0.1:$(cat "$TMP/port")/
    export DEBUGINFOD_URLS
    for _ in 1 2; do
        if named; then fail "named by a server's $how"; fi
    done
    n=$(grep -c "$id" "$TMP/asked" || true)
    [ -s "$TMP/asked" ] || fail "the environment's server was not asked" # for the vdso's first, after which it is shunned
    if [ $how = lie ] || [ $how = gone ]; then [ "$n" = 1 ] || fail "asked $n times for what it has not"; fi
    kill $server
done
