#!/usr/bin/env python3
"""Compares what `xprof stack --json` says of the threads of a JVM with jstack: each frame, with its line.

    jstack.py XPROF.json JSTACK.txt NAME...    names of threads that must be among those that are equal

Threads are told apart by the number of jstack's "nid". Lambda classes have their addresses left out, as xprof does it.
"""
import difflib
import json
import re
import sys

MOVING = {"Attach Listener", "Signal Dispatcher"}  # jstack itself makes them run


def plain(name):
    """Without what hidden classes have behind their names: a number, an address."""
    name = re.sub(r"(\$\$Lambda)\$\d+/\d+\.", r"\1.", name)  # JDK 8
    return re.sub(r"(\$\$Lambda|\$\w+|\w+)(\$\d+)?[/.+]0x[0-9a-f]+\.", r"\1.", name)


def of_jstack(text):
    threads, frames = {}, None
    for line in text.splitlines():
        head = re.match(r'"(.*)" .*\bnid=(0x[0-9a-f]+|\d+) ', line)
        if head:
            frames = threads.setdefault(int(head[2], 0), (head[1], []))[1]
        elif re.match(r"\s+at ", line) and frames is not None:
            name, place = re.match(r"\s+at (.*)\((.*)\)$", line).groups()
            number = re.search(r":(\d+)$", place)
            frames.append((plain(name), int(number[1]) if number else 0))
    return threads


def of_xprof(threads):
    out = {}
    for thread in threads:
        java = [f for f in thread["frames"] if f["module"] == "[java]" and not f["function"].startswith("[jvm: ")]
        out[thread["tid"]] = (thread["complete"], [(plain(f["function"]), f.get("line") or 0) for f in java])
    return out


def text(frames):
    return [f"{name}:{line}" for name, line in frames]


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        ours = of_xprof(json.load(f)["threads"])
    with open(sys.argv[2], encoding="utf-8") as f:
        theirs = of_jstack(f.read())
    bad, equal, frames = [], [], 0
    for tid, (name, stack) in theirs.items():
        complete, own = ours.get(tid, (False, []))
        if name in MOVING or not stack and not own:
            continue
        if not complete:
            bad.append(f"{name}: the stack is not complete")
        if text(own) != text(stack):
            diff = difflib.unified_diff(text(stack), text(own), "jstack", "xprof", lineterm="", n=1)
            bad.append(f"{name}:\n    " + "\n    ".join(list(diff)[:20]))
        else:
            equal.append(name)
            frames += len(own)
    missing = set(sys.argv[3:]) - set(equal)
    print(f"{len(equal)} threads with {frames} frames of Java are equal; {len(bad)} are not")
    for line in bad + [f"not among them: {name}" for name in sorted(missing)]:
        print("  " + line)
    sys.exit(bool(bad or missing))


main()
