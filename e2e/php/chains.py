#!/usr/bin/env python3
"""Compares a profile of chains_target.php with what the program has printed; options are those of e2e/scripts/compare.py."""
import collections
import os
import re
import sys

sys.path.insert(0, os.path.dirname(sys.path[0]) + "/scripts")
import compare  # noqa: E402

CALLED = ("hrtime",)  # by the leaf
LOOP = 9  # lines, with that where the leaf tells its chain
FIBERS = ("c73", "c74")  # have stacks of their own; the frames of who resumed them are behind their root


def text(frame):
    """Names of files may have blanks, which profiles' text does not tell from those before names."""
    return f"{frame[0]} {frame[1]}".strip(), frame[2]


def show(chain):
    return ";".join(f"{os.path.basename(f[0])}:{f[1]}" for f in chain)


def is_right(frames, chain):
    """The leaf tells what its chain is, and is in its loop; it may have called a function that is implemented in C, as who
    calls a leaf that is one does itself."""
    is_called = frames[-1][0] in CALLED
    if is_called and not chain[-1][1]:
        return frames[:-1] == chain[:-1]
    frames = frames[:-1] if is_called else frames
    if frames[:-1] != chain[:-1] or frames[-1][0] != chain[-1][0]:
        return False
    return chain[-1][1] <= frames[-1][1] <= chain[-1][1] + LOOP


class Php(compare.Language):
    name = "PHP"
    mapping = "[php]"
    loop = "^execute_ex"
    few_chains = 12  # machines may be busy

    def __init__(self):
        self.lines = collections.Counter()

    def scripts(self, frames):
        return [text(f) for f in frames]

    def printed(self, frames):
        return [text(f) for f in frames]

    def judge(self, own, frames, chains):
        name = next((f[0].split()[0] for f in own if re.match(r"c\d\d ", f[0])), "c90")  # called by the engine
        if name not in chains or not re.match(r"(spin|hash|hrtime)( |$)", own[-1][0]):
            return None
        below_root = name in FIBERS or own[0] != text(frames[0])
        if below_root and any(is_right(own, chain) for chain in chains[name]):
            return name, ""
        return name, f"{name}: {show(own)}, not {' or '.join(show(chain) for chain in chains[name])}"

    def right(self, own, value):
        self.lines[own[-1][1]] += value

    def notes(self, period):
        return ["lines of the leaf: " + " ".join(f"{k}:{v // period}" for k, v in sorted(self.lines.items()))]


compare.main(Php())
