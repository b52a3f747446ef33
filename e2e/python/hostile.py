#!/usr/bin/env python3
"""Checks whose names are in profiles of an agent that has seen processes of hostile.c and Python.

    hostile.py PROFILES "KIND..."

The KINDs must be there by the names that they give themselves; names of a kind may be in stacks of its own processes
only, and names of Python in containers without them.
"""
import collections
import glob
import gzip
import re
import sys

LIARS = ("ba" * 6, "cd" * 6, "dc" * 6)


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """Yields the fields of a message: number and value; those of other types than numbers and bytes are not there."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)
        if key & 7:
            value, at = data[at:at + value], at + value
        yield key >> 3, value


def numbers(data):
    at = 0
    while at < len(data):
        value, at = varint(data, at)
        yield value


def first(message, number):
    return next((value for n, value in fields(message) if n == number), 0)


def read(path):
    """Yields the names in each stack, by profile.proto; one of them is the process."""
    samples, lines, functions, strings = [], {}, {}, []
    for number, value in fields(gzip.open(path).read()):
        if number == 2:
            samples.append(value)
        elif number == 4:
            lines[first(value, 1)] = [first(line, 1) for n, line in fields(value) if n == 4]
        elif number == 5:
            functions[first(value, 1)] = first(value, 2)
        elif number == 6:
            strings.append(bytes(value).decode())
    for sample in samples:
        places = set()
        for number, value in fields(sample):
            if number == 1:
                places.update(numbers(value) if isinstance(value, bytes) else [value])
        yield {strings[functions[f]] for place in places for f in lines[place]}


def main():
    profiles, believed = sys.argv[1:]
    seen, bad, count = collections.Counter(), [], 0
    for path in glob.glob(profiles + "/*/*/*.pb.gz"):
        of_liars = path.split("/")[-2] in LIARS
        for names in read(path):
            count += 1
            kinds = [name[5:] for name in names if name.startswith("lies:")]
            for name in names:
                told = re.match(r"lie_([a-z]+\d*)", name)
                kind = "reused" if told and told[1].startswith("reus") else told and told[1]
                if told:
                    seen[kind] += 1
                if (told and kinds != [kind]) or (of_liars and "victim" in name):
                    bad.append(f"{name} is in a stack of {kinds}")
    print(f"{count} stacks; by name:", " ".join(f"{k} {n}" for k, n in sorted(seen.items())))
    bad += [f"there is no lie_{k}" for k in believed.split() if not seen[k]]
    for line in list(dict.fromkeys(bad))[:12]:
        print("  " + line)
    sys.exit(bool(bad) or not count)


main()
