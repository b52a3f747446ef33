"""Waits of Python: a thread that sleeps since long, locks, short sleeps, and threads that want the interpreter's lock."""
import sys
import threading
import time

lock = threading.Lock()


def long_sleep():
    time.sleep(4)


def outer_long():
    long_sleep()


def take():
    with lock:
        pass


def outer_take():
    for _ in range(5):
        take()
        time.sleep(0.02)


def hold():
    for _ in range(10):
        with lock:
            time.sleep(0.1)


def short_sleep():
    for _ in range(10):
        time.sleep(0.05)


def busy():
    end = time.time() + 1
    while time.time() < end:
        sum(range(50))


def start(*functions):
    threads = [threading.Thread(target=f) for f in functions]
    for t in threads:
        t.start()
    return threads


threads = start(outer_long)
time.sleep(0.3)
print("ready", flush=True)
sys.stdin.readline()
threads += start(outer_take, hold, short_sleep, busy, busy)
for t in threads:
    t.join()
