#!/usr/bin/env python3
"""Stands before a Pyroscope and fails as a file says, push by push.   push_proxy.py PORT URL MODE_FILE LOG

  well           hands everything on
  away           breaks off without an answer
  limited        429 for everything, as Pyroscope says it: without Retry-After
  refuse WORD    400 for the pushes whose labels hold the word; the others go on
  fail WORD      500 for those

The log has a line for each push: status (0: none), time of the profile in ns since 1970.
"""
import gzip
import http.server
import sys
import threading
import urllib.error
import urllib.request

port, url, mode_file, log_file = sys.argv[1:]
writing = threading.Lock()


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def time_of(body):
    """time_nanos, field 9 of the pprof profile inside."""
    data = gzip.decompress(body[body.index(b"\x1f\x8b\x08"):])
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)
        if key == 9 << 3:
            return value
        at += value if key & 7 == 2 else 0
    return 0


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body, kind="application/json"):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def hand_on(self, body):
        kind = self.headers["Content-Type"]
        request = urllib.request.Request(url + self.path, body, {"Content-Type": kind})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read(), answer.headers.get("Content-Type", kind)
        except urllib.error.HTTPError as e:
            return e.code, e.read(), e.headers.get("Content-Type", "application/json")
        except OSError:
            return 503, b"", "text/plain"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with open(mode_file, encoding="ascii") as f:
            mode, word = (f.read().split() + [""])[:2]
        met = word.encode() in body[:body.index(b"\x1f\x8b\x08")]
        if mode == "away":
            status = 0
            self.close_connection = True
        elif mode == "limited":
            status = 429
            self.answer(429, b'{"code":"resource_exhausted","message":"limit of the test"}')
        elif mode in ("refuse", "fail") and met:
            status = 400 if mode == "refuse" else 500
            code = b"invalid_argument" if mode == "refuse" else b"unknown"
            self.answer(status, b'{"code":"%s","message":"as the test wants it"}' % code)
        else:
            status, data, kind = self.hand_on(body)
            self.answer(status, data, kind)
        with writing, open(log_file, "a", encoding="ascii") as log:
            log.write("%d %d\n" % (status, time_of(body)))


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True


Server(("127.0.0.1", int(port)), Handler).serve_forever()
