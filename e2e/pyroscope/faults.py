#!/usr/bin/env python3
"""A server that misbehaves as a file says, connection by connection.   faults.py PORT MODE_FILE LOG
Once the mode is "well" it answers 200, and logs which pods it got."""
import gzip
import re
import socket
import sys
import threading
import time

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/proto\r\n"
seen = threading.Lock()


def read_request(conn):
    data = b""
    while b"\r\n\r\n" not in data:
        part = conn.recv(65536)
        if not part:
            return None
        data += part
    head, body = data.split(b"\r\n\r\n", 1)
    length = int(re.search(rb"(?i)content-length: (\d+)", head).group(1))
    while len(body) < length:
        part = conn.recv(65536)
        if not part:
            return None
        body += part
    return body


def drip(conn, data):
    for byte in data:
        conn.sendall(bytes([byte]))
        time.sleep(0.1)


def forever(conn, data):
    while True:
        conn.sendall(data)


def misbehave(conn, mode):
    if mode == "slow":  # a byte at a time: a loris
        drip(conn, OK + b"Content-Length: 0\r\n\r\n")
    elif mode == "silent":
        time.sleep(60)
    elif mode == "headers":
        conn.sendall(OK)
        forever(conn, b"X-Filler: " + b"x" * 1000 + b"\r\n")
    elif mode == "body":
        conn.sendall(OK + b"Transfer-Encoding: chunked\r\n\r\n")
        forever(conn, b"1000\r\n" + b"x" * 4096 + b"\r\n")
    elif mode == "bomb":
        bomb = gzip.compress(bytes(64 << 20))
        conn.sendall(OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb) + bomb)
    elif mode == "cut":
        conn.sendall(OK + b"Content-Length: 100\r\n\r\nhalf")
    elif mode == "garbage":
        conn.sendall(b"\x00\x01\x02 not HTTP\r\n\r\n")
    elif mode == "page":
        conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>")


def serve(conn):
    try:
        while True:
            with open(sys.argv[2]) as f:
                mode = f.read().strip()
            body = read_request(conn)
            if body is None:
                return
            with seen, open(sys.argv[3], "a") as log:
                log.write(f"{mode} {re.search(rb'pod-[0-9]+', body).group().decode()}\n")
            if mode != "well":
                misbehave(conn, mode)
                return
            conn.sendall(OK + b"Content-Length: 0\r\n\r\n")
    except OSError:
        pass
    finally:
        conn.close()


listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=64)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
