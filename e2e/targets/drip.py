"""A thousand connections to PORT with half a request each, from nine addresses, kept alive by a byte every PAUSE seconds.
Whoever is turned away comes back. Says "full" each time that there are a thousand."""
import socket, sys, time
port, pause = int(sys.argv[1]), float(sys.argv[2])
held = []
while True:
    while len(held) < 1000:
        s = socket.create_connection(("127.0.0.1", port), None, (f"127.0.0.{2 + len(held) % 9}", 0))
        try:
            s.send(b"GET /healthz HTTP/1.1\r\nX: ")
        except OSError:
            pass
        held.append(s)
    print("full", flush=True)
    for s in held[:]:
        try:
            s.send(b"x")
        except OSError:
            held.remove(s)
    time.sleep(pause)
