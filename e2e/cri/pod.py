#!/usr/bin/python3
"""Pods through a CRI socket, as a kubelet would make them, without network.

pod.py SOCKET run NAME NAMESPACE UID CGROUP_PARENT [KEY=VALUE...] -- COMMAND...   prints POD=id CID=id; the pairs are
                                                          annotations of the pod; of a VALUE @FILE, what the file holds
pod.py SOCKET sandbox NAME NAMESPACE UID CGROUP_PARENT [KEY=VALUE...]             the same without a container
pod.py SOCKET add POD CONTAINER NAME NAMESPACE UID CGROUP_PARENT -- COMMAND...    one more container; prints CID=id
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


SPACES = field(1, NODE) + field(2, CONTAINER)


def pod_labels(name, namespace, uid):
    return {"io.kubernetes.pod.name": name, "io.kubernetes.pod.namespace": namespace, "io.kubernetes.pod.uid": uid}


def sandbox_config(name, namespace, uid, parent, annotations):
    return (field(1, field(1, name) + field(2, uid) + field(3, namespace)) +
            pairs(6, pod_labels(name, namespace, uid)) + pairs(7, annotations) +
            field(8, field(1, parent) + field(2, field(1, SPACES))))


def start(pod, container, labels, sandbox_of_it, words):
    config = (field(1, field(1, container)) + field(2, field(1, "registry.local/busybox:1")) +
              b"".join(field(3, word) for word in words) +
              pairs(9, dict(labels, **{"io.kubernetes.container.name": container})) +
              field(15, field(2, field(3, SPACES))))
    cid = first(call("CreateContainer", field(1, pod) + field(2, config) + field(3, sandbox_of_it)))
    call("StartContainer", field(1, cid))
    return cid


def value(text):
    if not text.startswith("@"):
        return text
    with open(text[1:], encoding="utf-8", newline="") as f:
        return f.read()


def make_sandbox(name, namespace, uid, parent, words):
    annotations = {k: value(v) for k, v in (word.split("=", 1) for word in words)}
    config = sandbox_config(name, namespace, uid, parent, annotations)
    return first(call("RunPodSandbox", field(1, config))), config


def run(name, namespace, uid, parent, *rest):
    at = rest.index("--")
    pod, config = make_sandbox(name, namespace, uid, parent, rest[:at])
    cid = start(pod, "main", pod_labels(name, namespace, uid), config, rest[at + 1:])
    print("POD=%s CID=%s" % (pod, cid))


def sandbox(name, namespace, uid, parent, *words):
    print("POD=" + make_sandbox(name, namespace, uid, parent, words)[0])


def add(pod, container, name, namespace, uid, parent, *rest):
    config = sandbox_config(name, namespace, uid, parent, {})
    print("CID=" + start(pod, container, pod_labels(name, namespace, uid), config, rest[rest.index("--") + 1:]))


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
{"run": run, "sandbox": sandbox, "add": add, "stop": stop, "rm": rm,
 "clear": clear}[sys.argv[2]](*sys.argv[3:])
