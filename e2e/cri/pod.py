#!/usr/bin/python3
"""Pods through a CRI socket, as a kubelet would make them, without network.

pod.py SOCKET run NAME NAMESPACE UID CGROUP_PARENT [KEY=VALUE...] -- COMMAND...   prints POD=id CID=id; the pairs are
                                                                                  annotations of the pod
pod.py SOCKET stop CONTAINER | rm POD | clear

Messages are written by hand: field numbers of cri-api's runtime.v1."""
import sys

import grpc

NODE, CONTAINER = 2, 1  # NamespaceMode


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def pairs(number, values):
    return b"".join(field(number, field(1, k) + field(2, v)) for k, v in values.items())


def fields(data):
    """(number, value) of a message; numbers as int, everything else as bytes."""
    at = 0

    def number():
        nonlocal at
        n = shift = 0
        while True:
            b = data[at]
            at += 1
            n |= (b & 127) << shift
            shift += 7
            if b < 128:
                return n

    while at < len(data):
        tag = number()
        value = number()
        if tag & 7 == 2:
            at += value
            value = data[at - value:at]
        yield tag >> 3, value


def first(data):
    return dict(fields(data))[1].decode()


def call(method, request):
    stub = channel.unary_unary("/runtime.v1.RuntimeService/" + method)
    return stub(request, timeout=30)


def run(name, namespace, uid, parent, *rest):
    at = rest.index("--")
    annotations = dict(r.split("=", 1) for r in rest[:at])
    labels = {"io.kubernetes.pod.name": name, "io.kubernetes.pod.namespace": namespace, "io.kubernetes.pod.uid": uid}
    spaces = field(1, NODE) + field(2, CONTAINER)
    sandbox = (field(1, field(1, name) + field(2, uid) + field(3, namespace)) + pairs(6, labels) +
               pairs(7, annotations) + field(8, field(1, parent) + field(2, field(1, spaces))))
    pod = first(call("RunPodSandbox", field(1, sandbox)))
    container = (field(1, field(1, "main")) + field(2, field(1, "registry.local/busybox:1")) +
                 b"".join(field(3, word) for word in rest[at + 1:]) +
                 pairs(9, dict(labels, **{"io.kubernetes.container.name": "main"})) +
                 field(15, field(2, field(3, spaces))))
    cid = first(call("CreateContainer", field(1, pod) + field(2, container) + field(3, sandbox)))
    call("StartContainer", field(1, cid))
    print("POD=%s CID=%s" % (pod, cid))


def stop(container):
    call("StopContainer", field(1, container))
    call("RemoveContainer", field(1, container))


def rm(pod):
    call("StopPodSandbox", field(1, pod))
    call("RemovePodSandbox", field(1, pod))


def clear():
    for _, item in fields(call("ListPodSandbox", b"")):
        rm(first(item))


if len(sys.argv) < 3:
    sys.exit(__doc__)
channel = grpc.insecure_channel("unix:" + sys.argv[1], options=[("grpc.default_authority", "localhost")])
{"run": run, "stop": stop, "rm": rm, "clear": clear}[sys.argv[2]](*sys.argv[3:])
