#!/usr/bin/env python3
"""Keeps what is posted as OTLP profiles, when its headers are right.   otlp_receiver.py PORT FILE"""
import gzip
import http.server
import os
import sys


class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.answer(200)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path != "/v1development/profiles":
            return self.answer(404)
        if self.headers["Content-Type"] != "application/x-protobuf":
            return self.answer(415)
        if self.headers["Content-Encoding"] == "gzip":
            body = gzip.decompress(body)
        with open(sys.argv[2] + ".new", "wb") as f:
            f.write(body)
        os.rename(sys.argv[2] + ".new", sys.argv[2])
        return self.answer(200)

    def answer(self, status):
        self.send_response(status)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
