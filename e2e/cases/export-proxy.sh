#!/bin/bash
# Profiles and debug files through a forward proxy, which alone knows the servers' names: by option, by environment, with
# a password, tunnelled for https; what the proxy is not for goes without it, and its refusal is named.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need python3 openssl
. e2e/agent/lib.sh
unset http_proxy https_proxy all_proxy no_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY DEBUGINFOD_URLS

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$TMP/key.pem" -out "$TMP/cert.pem" -days 2 \
    -subj "/CN=backend.test" -addext "subjectAltName=DNS:backend.test" 2>/dev/null
cat >"$TMP/backend.py" <<'PY'
# A backend that takes every profile, has no debug file, and logs its requests: backend.py CERT KEY; prints its ports.
import http.server, ssl, sys, threading
class Backend(http.server.BaseHTTPRequestHandler):
    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200 if self.command == "POST" else 404)
        self.send_header("Content-Length", "0")
        self.end_headers()
    do_GET = do_POST = answer
servers = [http.server.ThreadingHTTPServer(("127.0.0.1", 0), Backend) for _ in range(2)]
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1], sys.argv[2])
servers[1].socket = context.wrap_socket(servers[1].socket, server_side=True)
threading.Thread(target=servers[1].serve_forever, daemon=True).start()
print(*(s.server_address[1] for s in servers), flush=True)
servers[0].serve_forever()
PY
cat >"$TMP/proxy.py" <<'PY'
# A forward proxy for names that end in .test, all of which are this machine: proxy.py USER:PASSWORD; prints its port.
import base64, http.client, http.server, select, socket, sys, urllib.parse
class Proxy(http.server.BaseHTTPRequestHandler):
    def allowed(self):
        want = "Basic " + base64.b64encode(sys.argv[1].encode()).decode()
        if self.headers.get("Proxy-Authorization") == want:
            return True
        self.send_response(407)
        self.send_header("Proxy-Authenticate", "Basic realm=proxy")
        self.send_header("Content-Length", "0")
        self.end_headers()
        return False
    def forward(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        url = urllib.parse.urlsplit(self.path)
        if not self.allowed() or not url.hostname.endswith(".test"):
            return
        to = http.client.HTTPConnection("127.0.0.1", url.port)
        to.request(self.command, url.path, body, {k: v for k, v in self.headers.items() if not k.startswith("Proxy-")})
        got = to.getresponse()
        text = got.read()
        self.send_response(got.status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
    do_GET = do_POST = forward
    def do_CONNECT(self):
        name, port = self.path.split(":")
        if not self.allowed() or not name.endswith(".test"):
            return
        to = socket.create_connection(("127.0.0.1", int(port)))
        self.send_response(200)
        self.end_headers()
        self.close_connection = True
        pair = {self.connection: to, to: self.connection}
        while True:
            for s in select.select(list(pair), [], [])[0]:
                data = s.recv(65536)
                if not data:
                    return
                pair[s].sendall(data)
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
print(server.server_address[1], flush=True)
server.serve_forever()
PY
serve() { # NAME ARGUMENT...
    python3 "$TMP/$1.py" "${@:2}" >"$TMP/$1.port" 2>"$TMP/$1.log" &
    at_exit "kill $!"
    await test -s "$TMP/$1.port"
}
serve backend "$TMP/cert.pem" "$TMP/key.pem"
serve proxy me:secret
read -r plain tls <"$TMP/backend.port"
read -r port_of_proxy <"$TMP/proxy.port"
proxy=http://me:secret@127.0.0.1:$port_of_proxy
dead=http://127.0.0.1:1

build_target layout
"$TMP/layout" 600000 &
at_exit "kill $!"
state_number=0
pushed() {
    [ "$(metric xprof_export_profiles_total 'exporter="pyroscope"')" -gt 0 ]
}
start() { # [VARIABLE=VALUE...] OPTION...
    local variables=()
    while [[ $1 == *_PROXY=* || $1 == *_proxy=* ]]; do variables+=("$1") && shift; done
    state_number=$((state_number + 1))
    env "${variables[@]}" "$XPROF" agent --interval 1s --state-dir "$TMP/state-$state_number" --cache-dir "$TMP/cache" \
        --listen "127.0.0.1:$port" --exclusive=off --cri-socket none "$@" >"$TMP/agent" 2>"$errors" &
    agent_pid=$!
    at_exit "kill -KILL $agent_pid"
    await curl -sf "$page/readyz"
}
in_log() { # REGEX
    grep -qE "$1" "$TMP/proxy.log"
}
through() { # REGEX_OF_THE_PROXY'S_LOG [VARIABLE=VALUE...] OPTION...
    local expected=$1
    shift
    : >"$TMP/proxy.log"
    start "$@"
    await pushed || fail "nothing is pushed with: $*"
    if [ -n "$expected" ]; then
        await in_log "$expected" || fail "no $expected at the proxy with: $*: $(cat "$TMP/proxy.log")"
    elif [ -s "$TMP/proxy.log" ]; then
        fail "the proxy is asked with: $*"
    fi
    end_agent
}
push="\"POST http://backend.test:$plain/push"
through "$push" --pyroscope-url "http://backend.test:$plain" --proxy "$proxy"
through "$push" HTTP_PROXY="$proxy" --pyroscope-url "http://backend.test:$plain"
through "\"CONNECT backend.test:$tls .* 200" https_proxy="$proxy" --pyroscope-url "https://backend.test:$tls" --ca-file "$TMP/cert.pem"
through "\"CONNECT backend.test:$tls .* 200" HTTPS_PROXY=$dead --proxy "$proxy" --pyroscope-url "https://backend.test:$tls" \
    --ca-file "$TMP/cert.pem"
through '' HTTP_PROXY=$dead NO_PROXY=10.0.0.0/8,127.0.0.1 --pyroscope-url "http://127.0.0.1:$plain"
through '' HTTP_PROXY=$dead --no-proxy 127.0.0.0/8 --pyroscope-url "http://127.0.0.1:$plain"
through '' HTTP_PROXY=$dead --proxy off --pyroscope-url "http://127.0.0.1:$plain"

# An exporter of the file may have a proxy of its own.
printf 'exporters: [{name: pyroscope, type: pyroscope, url: "http://backend.test:%s", proxy: "%s"}]\nproxy: %s\n' \
    "$plain" "$proxy" "$dead" >"$TMP/own.yaml"
through "$push" --config "$TMP/own.yaml"
expect_exit 2 'proxy.* is needed' "$XPROF" agent --pyroscope-url http://a --proxy 127.0.0.1:3128 --check-config

# Debug files of the agent and of a recording.
debug="\"GET http://debug.test:$plain/buildid/[0-9a-f]+/debuginfo"
rm -rf "$TMP/cache"
through "$debug" --pyroscope-url "http://backend.test:$plain" --proxy "$proxy" --debuginfod-urls "http://debug.test:$plain"
: >"$TMP/proxy.log"
cp "$TMP/layout" "$TMP/stripped"
strip "$TMP/stripped"
HTTP_PROXY=$proxy CACHE=$TMP/other record --debuginfod-urls "http://debug.test:$plain" -- "$TMP/stripped" 100
in_log "$debug" || fail "the recording does not ask the proxy for debug files"

# A wrong password: nothing is lost, and the log says why, for http and for https.
for url in "http://backend.test:$plain" "https://backend.test:$tls"; do
    start --proxy "http://me:wrong@127.0.0.1:$port_of_proxy" --pyroscope-url "$url"
    says_407() {
        grep -q 'pyroscope: .*407' "$errors"
    }
    await says_407 || fail "the proxy's refusal is not named: $(cat "$errors")"
    [ "$(metric xprof_export_profiles_total 'exporter="pyroscope"')" = 0 ] || fail "the proxy let it through"
    [ "$(metric xprof_export_pending_profiles 'exporter="pyroscope"')" -gt 0 ] || fail "profiles do not wait"
    ! grep -q wrong "$errors" || fail "the password is in the log"
    kill -KILL "$agent_pid"
    wait "$agent_pid" || true
done
