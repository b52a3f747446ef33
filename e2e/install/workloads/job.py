"""A job of three seconds of work: hashes in C, called from Python, and short rests."""
import hashlib
import time

data = b"x" * (1 << 20)


def digest_all():
    hashlib.pbkdf2_hmac("sha256", data[:64], b"salt", 20000)


def rest():
    time.sleep(0.005)


end = time.process_time() + 3  # however busy the node is
while time.process_time() < end:
    digest_all()
    rest()
