#!/usr/bin/python3
"""A node full of pods without a kubelet: real objects at a real API server, real cgroups with real processes.

node.py URL TOKEN_FILE TREE PARENT    TREE: cgroup hierarchies, comma-separated; PARENT: a folder in each, ours

Commands on stdin, an answer for each, "ok ..." or "error ...":
  (a program finds in JOINED_NS when it was about to join its container, ns by the monotonic clock)
  make PREFIX COUNT CONTAINERS [KEY=VALUE...]   pods PREFIX-0.. on node1 with such annotations; a sleeper in each container
  busy PREFIX COUNT PROGRAM [ARGUMENT...]       runs it in the first container of the first so many pods
  note PREFIX COUNT KEY=VALUE|KEY-              annotates the first so many, or takes it away
  churn PREFIX COUNT SECONDS PROGRAM [ARGUMENT...]  so many pods, spread over the time: each is made, runs the program in
                                                its container and is removed; answers with the number of programs run.
                                                A % in the program is 0 in every other pod, else 1
  remove PREFIX
"""
import http.client
import json
import os
import shlex
import signal
import ssl
import subprocess
import sys
import threading
import time
import urllib.parse

url, token_file, trees, parent = sys.argv[1:]
trees = trees.split(",")
with open(token_file, encoding="ascii") as f:
    token = f.read().strip()
local = threading.local()
pods = {}  # name -> Pod
processes = []
LANES = 12  # pods of a churn that live at the same time


def api(method, path, body=None, kind="application/json"):
    try:
        return call(method, path, body, kind)
    except (OSError, http.client.HTTPException):  # the server was started again meanwhile
        del local.connection
        return call(method, path, body, kind)


def call(method, path, body, kind):
    if not hasattr(local, "connection"):
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE  # a test's server on loopback
        local.connection = http.client.HTTPSConnection(urllib.parse.urlparse(url).netloc, context=context, timeout=30)
    headers = {"Authorization": "Bearer " + token, "Content-Type": kind}
    local.connection.request(method, "/api/v1/namespaces/default/pods" + path, body and json.dumps(body), headers)
    answer = local.connection.getresponse()
    data = answer.read()
    if answer.status >= 300:
        raise RuntimeError("%s %s: %d %s" % (method, path, answer.status, data[:200]))
    return json.loads(data)


class Pod:
    def __init__(self, name, containers, annotations):
        names = ["c%d" % i for i in range(containers)]
        spec = {"nodeName": "node1", "containers": [{"name": n, "image": "none"} for n in names]}
        made = api("POST", "", {"metadata": {"name": name, "annotations": annotations}, "spec": spec})
        self.name, self.uid = name, made["metadata"]["uid"]
        self.ids = [os.urandom(32).hex() for _ in names]
        self.names = names

    def folders(self, container=None):
        pod = "%s/kubepods/burstable/pod%s" % (parent, self.uid)
        return ["%s/%s%s" % (tree, pod, "/" + self.ids[container] if container is not None else "") for tree in trees]

    def make_groups(self):
        for i in range(len(self.ids)):
            for folder in self.folders(i):
                os.makedirs(folder)

    def tell_status(self):
        states = [{"name": n, "image": "none", "imageID": "", "ready": True, "restartCount": 0,
                   "containerID": "containerd://" + i, "state": {"running": {}}} for n, i in zip(self.names, self.ids)]
        api("PATCH", "/%s/status" % self.name, {"status": {"phase": "Running", "containerStatuses": states}},
            "application/merge-patch+json")

    def run(self, container, command):
        def join():
            os.environ["JOINED_NS"] = str(time.monotonic_ns())
            for folder in self.folders(container):
                with open(folder + "/cgroup.procs", "w", encoding="ascii") as procs:
                    procs.write(str(os.getpid()))
        return subprocess.Popen(command, preexec_fn=join, stdin=subprocess.DEVNULL)

    def remove_groups(self):
        for i in range(len(self.ids)):
            for folder in self.folders(i):
                remove_group(folder)
        for folder in self.folders():
            remove_group(folder)

    def remove(self):
        self.remove_groups()
        api("DELETE", "/%s?gracePeriodSeconds=0" % self.name)


def remove_group(folder):
    for _ in range(200):
        try:
            os.rmdir(folder)
            return
        except FileNotFoundError:
            return
        except OSError:  # a process is on its way out
            time.sleep(0.01)


def make(prefix, count, containers, *annotations):
    for i in range(int(count)):
        pod = Pod("%s-%d" % (prefix, i), int(containers), dict(a.split("=", 1) for a in annotations))
        pods[pod.name] = pod
        pod.make_groups()
        pod.tell_status()
        for c in range(len(pod.ids)):
            processes.append((pod.name, pod.run(c, ["sleep", "infinity"])))


def busy(prefix, count, *command):
    for i in range(int(count)):
        name = "%s-%d" % (prefix, i)
        processes.append((name, pods[name].run(0, command)))


def note(prefix, count, pair):
    key, _, value = pair.rstrip("-").partition("=")
    body = {"metadata": {"annotations": {key: None if pair.endswith("-") else value}}}
    for i in range(int(count)):
        api("PATCH", "/%s-%d" % (prefix, i), body, "application/merge-patch+json")


def churn(prefix, count, seconds, *command):
    count, begun, done = int(count), time.monotonic(), []

    def live(i):
        pod = Pod("%s-%d" % (prefix, i), 1, {"xprof.io/profile": "true"})
        time.sleep(0.2)  # a kubelet takes longer from the object to the first process,
        pod.make_groups()
        time.sleep(0.1)  # and a runtime from the groups to it
        process = pod.run(0, [command[0].replace("%", str(i % 2))] + list(command[1:]))
        pod.tell_status()
        process.wait()
        pod.remove()
        done.append(i)

    def lives(first):
        for i in range(first, count, LANES):
            time.sleep(max(0, begun + i * float(seconds) / count - time.monotonic()))
            live(i)

    threads = [threading.Thread(target=lives, args=(i,)) for i in range(LANES)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return "%d in %.1f s" % (len(done), time.monotonic() - begun)


def remove(prefix):
    mine = [n for n in pods if n.startswith(prefix + "-")]
    for name, process in processes:
        if name in mine:
            process.kill()
            process.wait()
    processes[:] = [p for p in processes if p[0] not in mine]
    for name in mine:
        pods.pop(name).remove()


commands = {"make": make, "busy": busy, "note": note, "churn": churn, "remove": remove}
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what is below `finally` is done then, too
try:
    for line in sys.stdin:
        words = shlex.split(line)
        try:
            print("ok", commands[words[0]](*words[1:]) or "", flush=True)
        except Exception as e:  # whatever it is, the test decides
            print("error", repr(e), flush=True)
finally:
    for _, process in processes:
        process.kill()
        process.wait()
    for pod in pods.values():
        pod.remove_groups()
    for tree in trees:
        for folder in ("/kubepods/burstable", "/kubepods", ""):
            remove_group(tree + "/" + parent + folder)
