"""Known chains of calls, one after the other: at the end of each, what the interpreter itself says of its stack is
printed, and then the CPU is busy for a while.

    chains_target.py MILLISECONDS

A line is a JSON list: the name of the chain, and the frames from the root on, as [name, file, line].
"""
import asyncio
import collections
import contextlib
import functools
import hashlib
import json
import re
import sys
import threading
import time

BUSY = int(sys.argv[1]) / 1000


def name_of(code):
    return getattr(code, "co_qualname", code.co_name)  # since 3.11


def spin():
    frame, chain = sys._getframe(1), []
    while frame:
        chain.append([name_of(frame.f_code), frame.f_code.co_filename, frame.f_lineno])
        frame = frame.f_back
    print(json.dumps([current, chain[::-1]]), flush=True)
    end, n = time.perf_counter() + BUSY, 0
    while time.perf_counter() < end:
        n += sum(range(50))
    return n


def native():
    spin_native = hashlib.sha256
    frame, chain = sys._getframe(), []
    while frame:
        chain.append([name_of(frame.f_code), frame.f_code.co_filename, frame.f_lineno])
        frame = frame.f_back
    print(json.dumps([current, chain[::-1]]), flush=True)
    end, data = time.perf_counter() + BUSY, b"x" * 4000000
    while time.perf_counter() < end:
        spin_native(data).digest()  # without the interpreter's lock


class Thing:
    def __init__(self, run=False):
        if run:
            spin()

    def method(self):
        return spin()

    @classmethod
    def of_class(cls):
        return spin()

    @staticmethod
    def static():
        return spin()

    @property
    def value(self):
        return spin()

    def __getattr__(self, name):
        return spin() if name == "missing" else 0

    def __lt__(self, other):
        return bool(spin()) if not other.__dict__.setdefault("compared", spun()) else True

    def __hash__(self):
        return spin() and 1

    def __eq__(self, other):
        return spin() is not None

    def __call__(self, n):
        return self(n - 1) if n else spin()

    def __enter__(self):
        spin()

    def __exit__(self, *unused):
        spin()

    def __format__(self, how):
        return str(spin())

    def __iter__(self):
        yield spin()

    def __del__(self):
        pass


def spun():
    return False


class Meta(type):
    def __call__(cls, *args):
        spin()
        return super().__call__(*args)


class Made(metaclass=Meta):
    pass


class Derived(Thing):
    def method(self):
        return super().method()


def decorated(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)

    return wrapper


@decorated
def plain(n=0):
    return spin()


def recursive(n):
    return recursive(n - 1) if n else spin()


def even(n):
    return odd(n - 1) if n else spin()


def odd(n):
    return even(n - 1) if n else spin()


def outer():
    def inner():
        return spin()

    return inner()


def generate(n):
    if n:
        yield from generate(n - 1)
    else:
        yield spin()


@contextlib.contextmanager
def managed():
    yield spin()


async def awaited(n):
    return await awaited(n - 1) if n else spin()


def raises():
    try:
        raise ValueError
    except ValueError:
        return spin()
    finally:
        n = 1


def default(value):
    return str(spin())


def deep_in_c(n):
    return sorted([n], key=lambda k: deep_in_c(k - 1))[0] if n else spin()


def c01(): spin()
def c02(): recursive(5)
def c03(): even(7)
def c04(): outer()
def c05(): Thing().method()
def c06(): Derived().method()
def c07(): Thing.of_class()
def c08(): Thing.static()
def c09(): Thing().value
def c10(): Thing().missing
def c11(): Thing(True)
def c12(): Made()
def c13(): sorted([1], key=lambda k: spin())
def c14(): list(map(lambda k: spin(), [1]))
def c15(): functools.reduce(lambda a, b: spin(), [1, 2])
def c16(): [spin() for k in [1]]
def c17(): {k: spin() for k in [1]}
def c18(): list(spin() for k in [1])
def c19(): list(generate(4))
def c20(): Thing()(5)
def c21(): plain()
def c22(): exec("def text():\n    spin()\ntext()", globals())
def c23(): eval("spin()")
def c24(): raises()
def c25(): re.sub("a", lambda m: str(spin()), "a")
def c26(): json.dumps(Thing, default=default)
def c27(): {Thing(): 1}
def c28(): Thing() == 1
def c29(): f"{Thing():x}"
def c30(): list(Thing())
def c31(): functools.partial(plain, 1)()
def c32(): asyncio.run(awaited(3))
def c33(): deep_in_c(5)
def c34(): recursive(300)
def c35(): native()
def c36(): collections.defaultdict(spin)[1]


def c37():
    with managed():
        pass


def c38():
    with Thing():
        pass


def c39():
    thread = threading.Thread(target=plain)
    thread.start()
    thread.join()


def c40():
    class Local(Thing):
        spin()


def c41():
    thread = threading.Thread(target=native)
    thread.start()
    while thread.is_alive():
        time.sleep(0.01)


for current in sorted(name for name in globals() if re.match(r"c\d\d$", name)):
    globals()[current]()
