#!/bin/bash
# A thousand connections with half a request each, from nine addresses, kept alive by a byte now and then: a tenth
# address, as that of probes and scrapers, is answered all the same.
set -euo pipefail
. e2e/lib.sh
need_root
need python3
. e2e/agent/lib.sh

start_agent --host-processes off
cat >"$TMP/drip.py" <<'EOF'
import socket, sys, time
held = []
while True:
    while len(held) < 1000:
        s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), None, (f"127.0.0.{2 + len(held) % 9}", 0))
        try:
            s.send(b"GET /healthz HTTP/1.1\r\nX: ")
        except OSError:
            pass
        held.append(s)
    print("full", flush=True)
    for s in held:
        try:
            s.send(b"x")
        except OSError:
            held.remove(s)
    time.sleep(0.1)
EOF
python3 "$TMP/drip.py" "$port" >"$TMP/drip" &
at_exit "kill $!"
await test -s "$TMP/drip"
for i in {1..20}; do
    for of in healthz metrics; do
        curl -sf -m 3 -o /dev/null "$page/$of" || fail "no answer from /$of in round $i: curl ends with $?"
    done
    sleep 0.2
done
[ "$(wc -l <"$TMP/drip")" -gt 5 ] || fail "the connections were not kept up: this proves nothing"
[ "$(find "/proc/$agent_pid/fd" -lname 'socket:*' | wc -l)" -lt 200 ] || fail "it holds too many sockets"
end_agent
