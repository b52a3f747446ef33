import time


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def work(end):
    while time.time() < end:
        fib(18)


work(time.time() + 1.5)
