#!/usr/bin/python3
"""fake.py SOCKET old|none|huge|garbage CONTAINER_ID

A runtime that is odd: "old" speaks v1alpha2 only and knows the container, "none" has another service (docker's
containerd), "huge" answers with 17 MiB, "garbage" with bytes that are no message."""
import concurrent.futures
import sys

import grpc

path, kind, container = sys.argv[1:4]


def text(number, value):
    data = value if isinstance(value, bytes) else value.encode()
    out, n = bytes([number << 3 | 2]), len(data)
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n]) + data


answers = {
    "Version": text(2, "fake") + text(3, "1.0"),
    "ListPodSandbox": b"",
    "ListContainers": text(1, text(1, container) + text(3, text(1, "elderly"))),
}
if kind == "huge":
    answers["ListContainers"] = text(1, text(1, "x" * (17 << 20)))
if kind == "garbage":
    answers["ListContainers"] = b"\xff" * 100
service = {"old": "runtime.v1alpha2.RuntimeService", "none": "some.Other"}.get(kind, "runtime.v1.RuntimeService")

server = grpc.server(concurrent.futures.ThreadPoolExecutor(2), options=[("grpc.max_send_message_length", -1)])
server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(service, {
    name: grpc.unary_unary_rpc_method_handler(lambda request, context, answer=answer: answer)
    for name, answer in answers.items()})])
server.add_insecure_port("unix:" + path)
server.start()
server.wait_for_termination()
