#!/usr/bin/python3
"""Stands before an API server and answers late, cuts watches, forgets history, as a file says, request by request.

api_proxy.py PORT URL CERT KEY MODE_FILE LOG      URL: of the server behind; PORT: ours, on all addresses, with TLS

  well        hands everything on
  slow MS     waits so long before each answer
  cut         hands on half of the next object of each watch, and breaks off
  gone        every watch ends with an ERROR event of code 410, as when the history is compacted
  gone-http   every watch is answered by HTTP 410

The log has a line for each request: what became of it, and its path.
"""
import http.client
import http.server
import ssl
import sys
import threading
import time
import urllib.parse

port, url, cert, key, mode_file, log_file = sys.argv[1:]
there = urllib.parse.urlparse(url).netloc
writing = threading.Lock()
GONE = b'{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","message":"too old",' \
    b'"reason":"Expired","code":410}}\n'


def mode():
    with open(mode_file, encoding="ascii") as f:
        return f.read().split()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def note(self, what):
        with writing, open(log_file, "a", encoding="ascii") as f:
            f.write("%s %s\n" % (what, self.path))

    def piece(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def hand_on(self, answer, watch):
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.getheader("Content-Type", "application/json"))
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while True:
            line = answer.readline() if watch else answer.read(65536)
            if not line:
                break
            if watch and mode()[0] == "cut":
                self.piece(line[:len(line) // 2])
                self.note("cut")
                raise BrokenPipeError
            if watch and mode()[0].startswith("gone"):
                self.piece(GONE)
                self.note("gone")
                break
            if mode()[0] == "slow":
                time.sleep(int(mode()[1]) / 1000)
            self.piece(line)
        self.piece(b"")

    def do_GET(self):
        watch = "watch=1" in self.path
        what = mode()
        if what[0] == "slow":
            time.sleep(int(what[1]) / 1000)
        if watch and what[0] == "gone-http":
            self.note("gone-http")
            self.send_response(410)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        server = http.client.HTTPSConnection(there, context=ssl._create_unverified_context(), timeout=300)
        try:
            server.request("GET", self.path, headers={"Authorization": self.headers.get("Authorization", "")})
            self.note(what[0])
            self.hand_on(server.getresponse(), watch)
        except (OSError, http.client.HTTPException):
            self.close_connection = True
        finally:
            server.close()


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def get_request(self):
        conn, address = self.socket.accept()
        return context.wrap_socket(conn, server_side=True, do_handshake_on_connect=False), address


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(cert, key)
Server(("0.0.0.0", int(port)), Handler).serve_forever()
