"""Threads that want the interpreter's lock: each computes for two seconds."""
import threading
import time


def compute():
    end = time.monotonic() + 2
    while time.monotonic() < end:
        sum(range(1000))


threads = [threading.Thread(target=compute) for _ in range(3)]
for t in threads:
    t.start()
for t in threads:
    t.join()
