"""A job of three seconds: hashes in C, called from Python."""
import hashlib
import time

data = b"x" * (1 << 20)
end = time.monotonic() + 3
while time.monotonic() < end:
    hashlib.pbkdf2_hmac("sha256", data[:64], b"salt", 20000)
