#!/usr/bin/python3
"""An API server's stand-in that replays lists: so many namespaces, and the pods of node1, spread over them.

apiserver.py NAMESPACES PODS CONTAINERS [CGROUP_FOLDER...]
                          each pod's and container's cgroup is made below /kubepods of the folders, and removed at the end

Prints its port. Commands on stdin, an answer for each:
  stats        requests and bytes of the answers since the last time, by path: a line of JSON
  note N       changes the annotation xprof.io/profile of N namespaces, for watches
"""
import http.server
import json
import os
import signal
import sys
import threading
import time
import urllib.parse

namespaces, pods, containers = (int(a) for a in sys.argv[1:4])
folders = [f + "/kubepods/burstable" for f in sys.argv[4:]]
changed = threading.Condition()
events = []  # (version, line) of namespaces
version = namespaces + pods + 10
counts = {}


def managed(keys, manager):
    fields = {"f:metadata": {"f:" + kind: dict({".": {}}, **{"f:" + k: {} for k in of}) for kind, of in keys.items()}}
    return {"manager": manager, "operation": "Update", "apiVersion": "v1", "time": "2026-01-31T09:30:00Z",
            "fieldsType": "FieldsV1", "fieldsV1": fields}


def namespace(i, at, profile=None):
    """As kubectl create, a policy controller and a GitOps controller leave it."""
    name = "team-%05d" % i
    labels = {"kubernetes.io/metadata.name": name, "team": "t%d" % (i % 97), "environment": "production",
              "pod-security.kubernetes.io/enforce": "restricted", "istio-injection": "enabled"}
    notes = {"argocd.argoproj.io/tracking-id": "tenants:/Namespace:argocd/" + name,
             "scheduler.alpha.kubernetes.io/node-selector": "pool=general",
             "openpolicyagent.org/owner": "owner-%d@example.com" % i}
    if profile or i % 10 == 0:
        notes["xprof.io/profile"] = profile or "cpu"
    meta = {"name": name, "uid": "%08d-0000-4000-8000-000000000000" % i, "resourceVersion": str(at),
            "creationTimestamp": "2026-01-31T09:30:00Z", "labels": labels, "annotations": notes,
            "managedFields": [managed({"annotations": notes, "labels": labels}, "argocd-controller")]}
    return {"kind": "Namespace", "apiVersion": "v1", "metadata": meta, "spec": {"finalizers": ["kubernetes"]},
            "status": {"phase": "Active"}}


def uid(i):
    return "%08d-1111-4111-8111-111111111111" % i


def container_id(i, c):
    return "%032x%032x" % (i + 1, c + 1)


def pod(i):
    name, names = "web-%d" % i, ["c%d" % c for c in range(containers)]
    labels = {"app.kubernetes.io/name": "web", "pod-template-hash": "abcdef"}
    meta = {"name": name, "namespace": "team-%05d" % (i * 7 % namespaces), "uid": uid(i),
            "resourceVersion": str(namespaces + i), "labels": labels, "managedFields": [managed({"labels": labels}, "k")],
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-abcdef", "controller": True}]}
    status = {"phase": "Running", "startTime": "2026-01-31T09:30:00Z",
              "containerStatuses": [{"name": n, "image": "web:1", "containerID": "containerd://" + container_id(i, c),
                                     "state": {"running": {}}} for c, n in enumerate(names)]}
    return {"metadata": meta, "spec": {"nodeName": "node1", "containers": [{"name": n, "image": "web:1"} for n in names]},
            "status": status}


def text(o):
    return json.dumps(o, separators=(",", ":"))


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def send(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        count = counts.setdefault(self.what, [0, 0])
        count[1] += len(data)

    def list(self, kind, items, query):
        """From the watch cache, as a server does with resourceVersion=0: all at once, whatever the limit is."""
        limit = int(query.get("limit", ["0"])[0])
        begin = int(query.get("continue", ["0"])[0])
        end = len(items) if "resourceVersion" in query or not limit else min(len(items), begin + limit)
        meta = {"resourceVersion": str(version)}
        if end < len(items):
            meta["continue"] = str(end)
        self.send(('{"kind":"%s","apiVersion":"v1","metadata":%s,"items":[' % (kind, text(meta))).encode())
        for i in range(begin, end, 50):
            part = ",".join(text(o) for o in items[i:min(i + 50, end)])
            self.send(("," if i > begin else "").encode() + part.encode())
        self.send(b"]}\n")

    def watch(self, query, mine):
        at, until = int(query["resourceVersion"][0]), time.monotonic() + int(query["timeoutSeconds"][0])
        while time.monotonic() < until:
            with changed:
                changed.wait(60)
                new = [(v, line) for v, line in events if v > at] if mine else []
            if not new:
                new = [(at, '{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"%d"}}}\n' % at)]
            self.send("".join(line for _, line in new).encode())
            at = new[-1][0]

    def do_GET(self):
        url = urllib.parse.urlparse(self.path)
        query = urllib.parse.parse_qs(url.query)
        of_namespaces = url.path == "/api/v1/namespaces"
        self.what = url.path.rsplit("/", 1)[1] + (" watch" if "watch" in query else " list")
        counts.setdefault(self.what, [0, 0])[0] += 1
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        if "watch" in query:
            self.watch(query, of_namespaces)
        elif of_namespaces:
            self.list("NamespaceList", all_namespaces, query)
        else:
            self.list("PodList", all_pods, query)
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        pass  # who watches goes when it likes


def groups():
    for folder in folders:
        for i in range(pods):
            yield "%s/pod%s" % (folder, uid(i))
            for c in range(containers):
                yield "%s/pod%s/%s" % (folder, uid(i), container_id(i, c))


def note(n):
    global version
    with changed:
        for i in range(n):
            version += 1
            o = namespace(i % namespaces, version, "cpu" if version % 2 else "false")
            events.append((version, text({"type": "MODIFIED", "object": o}) + "\n"))
        changed.notify_all()
    return "ok"


def stats():
    answer = text({what: {"requests": c[0], "bytes": c[1]} for what, c in counts.items()})
    counts.clear()
    return answer


all_namespaces = [namespace(i, i + 1) for i in range(namespaces)]
all_pods = [pod(i) for i in range(pods)]
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
try:
    for group in groups():
        os.makedirs(group, exist_ok=True)
    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    for line in sys.stdin:
        words = line.split()
        print(note(int(words[1])) if words[0] == "note" else stats(), flush=True)
finally:
    for group in sorted(groups(), reverse=True):
        if os.path.isdir(group):
            os.rmdir(group)
    for folder in folders:
        for f in (folder, os.path.dirname(folder)):
            if os.path.isdir(f):
                os.rmdir(f)
