#!/bin/bash
# Bytes of sockets are told apart by peer on request: clients have the address and port of their server, servers the
# address of their client and their own port, whoever of the two speaks first, and however the peer is named. Sockets of
# the unix family have the name that one of the two is bound to.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need go python3
. e2e/pprof.sh

cat >"$TMP/program.py" <<'END'
import os, socket, sys, time
ports, path = [int(p) for p in sys.argv[2:6]], sys.argv[1] + "/u.sock"
while sys.argv[6:] and not os.path.exists(sys.argv[1] + "/go"):
    time.sleep(0.1)
def talk(listener, client, there, back):
    listener.listen()
    client.connect(listener.getsockname())
    server, _ = listener.accept()
    client.sendall(b"c" * there)
    n = 0
    while n < there:
        n += len(server.recv(65536))
    server.sendall(b"s" * back)
    n = 0
    while n < back:
        n += len(client.recv(65536))
def inet(port):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("127.0.0.1", port))
    return s
talk(inet(ports[0]), socket.socket(), 1000, 200000)
chosen = socket.socket() # a client that has chosen its own port is told by that
chosen.bind(("127.0.0.1", ports[3]))
talk(inet(ports[1]), chosen, 50, 60)
six = socket.socket(socket.AF_INET6)
six.bind(("::1", ports[2]))
talk(six, socket.socket(socket.AF_INET6), 7, 8)
u = socket.socket(socket.AF_UNIX)
u.bind(path)
talk(u, socket.socket(socket.AF_UNIX), 300, 400)
a = socket.socket(socket.AF_UNIX)
a.bind("\0hidden")
talk(a, socket.socket(socket.AF_UNIX), 30, 40)
bound = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
bound.bind(("127.0.0.1", ports[0]))
free = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
free.sendto(b"d" * 90, ("127.0.0.1", ports[0]))
bound.recvfrom(100)
free.sendmsg([b"d" * 5], [], 0, ("127.0.0.1", ports[0]))
bound.recvfrom(100)
END

expect_peer() { # RECEIVED SENT PEER
    grep -Fxq "$1 $2 $3" "$TMP/peers" || { cat "$TMP/peers"; fail "not $1 bytes received and $2 sent: $3"; }
}

free_ports
python3=$(python3 -c "import sys; print(sys.executable)")
record -e net --label peer -o "$TMP/x.pb.gz" -- \
    "$python3" -I "$TMP/program.py" "$TMP" $port $((port + 1)) $((port + 2)) $((port + 3))
sums_by_label "$TMP/x.pb.gz" peer received sent >"$TMP/peers"
expect_peer 200000 1095 "127.0.0.1:$port" # with the 95 of datagrams
expect_peer 1000 200000 "127.0.0.1->:$port"
expect_peer 95 0 "*->:$port" # datagrams do not say where they come from before they are there
expect_peer 60 50 "127.0.0.1->:$((port + 3))"
expect_peer 50 60 "127.0.0.1->:$((port + 1))"
expect_peer 8 7 "[::1]:$((port + 2))"
expect_peer 7 8 "[::1]->:$((port + 2))"
expect_peer 700 700 "$TMP/u.sock"
expect_peer 70 70 @hidden
expect .lost.label == 0
[ "$(wc -l <"$TMP/peers")" = 9 ] || { cat "$TMP/peers"; fail "there are other peers"; }

# An agent has them, too, if it is told so: without other labels of samples.
rm -f "$TMP/u.sock"
"$python3" -I "$TMP/program.py" "$TMP" $((port + 4)) $((port + 5)) $((port + 6)) $((port + 7)) wait &
again=$!
at_exit "kill $again"
served=$((port + 4))
. e2e/agent/lib.sh
INTERVAL=2s start_agent --events net --io-labels peer
sleep 3 # until somebody is known to want it
touch "$TMP/go"
sends_label() {
    local f
    for f in $(compgen -G "$out/host/python3*/*.pb.gz"); do
        sums_by_label "$f" peer received sent >"$TMP/peers"
        if grep -Fxq "1000 200000 127.0.0.1->:$served" "$TMP/peers"; then return 0; fi
    done
    return 1
}
await sends_label
end_agent
