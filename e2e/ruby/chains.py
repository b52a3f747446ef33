#!/usr/bin/env python3
"""Compares a profile of chains_target.rb with what the program has printed.

    chains.py PROFILE.pb.gz PRINTED [--missed MS] [--few N]

--missed: of so many ms of samples with the interpreter, frames need not be there: before they could be known.
--few: chains with fewer samples than N are bad (3).
"""
import argparse
import collections
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(sys.path[0]))
import stacks  # noqa: E402

UNKNOWN = re.compile(r"\[ruby(: gone)?\]$")
NATIVE = re.compile(r"(?:[A-Z][\w:]*[#.])?(?:\w+[?!=]?|[-+*/%<>=!~\[\]&|^]+)$")
SPIN = "Object#spin"


def same(ours, label, path, line, prefixes, caller):
    """Tells whether a frame is what Ruby says."""
    name, file, at = ours
    if not file:  # in C: Ruby gives such frames the place of their callers
        return NATIVE.match(name) and re.sub(r"^.*?[#.](?=.)", "", name) == label and (path or "", line) == caller
    start = re.match(r"(?:block (?:\(\d+ levels\) )?in |rescue in |ensure in )*", label)[0]
    return (file, at) == (path, line) and name in [start + p + label[len(start):] for p in prefixes]


def is_chain(ours, truth):
    if len(ours) != len(truth):
        return False
    callers = [("", 0)] + [(f[1] or "", f[2]) for f in truth]
    return all(same(o, *t, c) for o, t, c in zip(ours, truth, callers))


def show(frames):
    return ";".join(f"{f[0]}:{f[2]}" for f in frames)


def show_truth(frames):
    return ";".join(f"{f[0]}:{f[2]}({f[3]})" for f in frames)


class Counts:
    def __init__(self):
        self.below = self.without = self.unknown = self.cut = self.pending = self.right = self.wrong = 0
        self.period, self.of, self.bad = None, collections.Counter(), []


def count(n, chains, value, frames, ruby, is_cut, labels):
    n.period = min(n.period or value, value)
    if not ruby and not any("ruby_run_node" in f[0] or "rb_vm_exec" in f[0] for f in frames):
        return
    n.below += value
    if "[table-pending]" in labels or "[dump-end]" in labels:
        n.pending += value
        return
    n.cut += value * is_cut
    n.without += value * (not ruby)
    unknown = any(UNKNOWN.match(f[0]) for f in ruby)
    n.unknown += value * unknown
    spins = [i for i, f in enumerate(ruby) if f[0] == SPIN]
    if is_cut or unknown or not spins or any(f[0] == "Object#tell" for f in ruby):
        return
    ours = ruby[:spins[-1]]
    name = next((name for name in chains if any(is_chain(ours, c) for c in chains[name])), None)
    if name:
        n.right += value
        n.of[name] += value
        return
    n.wrong += value
    near = next((f[0][-3:] for f in ours if re.search(r"#c\d\d$", f[0])), "")
    n.bad.append(f"{near}: {show(ours)}, not {' or '.join(show_truth(c) for c in chains.get(near, [])[:2])}")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("profile")
    options.add_argument("printed")
    options.add_argument("--missed", type=int, default=0)
    options.add_argument("--few", type=int, default=3)
    args = options.parse_args()
    chains, n = collections.defaultdict(list), Counts()
    for line in open(args.printed, encoding="utf-8"):
        name, frames = json.loads(line)
        chains[name].append(frames)
    of_ruby = stacks.read(args.profile, "[ruby]")
    for (value, frames, is_cut, labels), (_, ruby, _, _) in zip(stacks.read(args.profile), of_ruby):
        count(n, chains, value, frames, ruby, is_cut, labels)
    period, bad = n.period or 1, sorted(n.bad)
    few = [name for name in chains if n.of[name] < args.few * period]
    if len(few) > 4:  # the first ones may have run before anything was known
        bad.append(f"few samples: {' '.join(few)}")
    if not n.right:
        bad.append("no chain is there")
    if n.without > args.missed * 1e6 + 0.005 * n.below:
        bad.append(f"{n.without // period} of {n.below // period} samples have no frame of Ruby")
    if n.unknown > 0.01 * n.below + 0.15e9:  # text that was evaluated is gone when it has run
        bad.append(f"{n.unknown // period} of {n.below // period} samples have frames without name")
    if n.cut > 0.005 * n.below:
        bad.append(f"{n.cut // period} of {n.below // period} stacks are cut")
    print(f"{n.below // period} samples of Ruby, {n.without // period} without its frames, {n.unknown // period} without "
          f"names, {n.cut // period} cut, {n.pending // period} early; {n.right // period} of "
          f"{(n.right + n.wrong) // period} are right, in {len(n.of)} of {len(chains)} chains")
    for line in list(dict.fromkeys(bad))[:12]:
        print("  " + (line if len(line) < 900 else line[:400] + " ... " + line[-400:]))
    sys.exit(bool(bad))


main()
