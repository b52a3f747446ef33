#!/usr/bin/env python3
"""Compares a profile of chains_target.py with what the program has printed.

    chains.py PROFILE.pb.gz PRINTED [--missed MS] [--few N]

--missed: of so many ms of samples with the interpreter's loop, frames need not be there: before they could be known.
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

LOOP = re.compile(r"_PyEval_EvalFrameDefault")
UNKNOWN = re.compile(r"\[python(: gone)?\]$")
BUSY = ("spin", "native")


def is_python(frame):
    named = frame[2] and (frame[1].endswith(".py") or frame[1].startswith("<"))  # line 0: by a map
    return named or UNKNOWN.match(frame[0])


def main():
    options = argparse.ArgumentParser()
    options.add_argument("profile")
    options.add_argument("printed")
    options.add_argument("--missed", type=int, default=0)
    options.add_argument("--few", type=int, default=3)
    args = options.parse_args()
    chains, bad = collections.defaultdict(list), []
    for line in open(args.printed, encoding="utf-8"):
        name, frames = json.loads(line)
        chains[name].append([tuple(f) for f in frames])
    count, below, without, unknown, cut, pending, right, wrong, period = collections.Counter(), 0, 0, 0, 0, 0, 0, 0, None
    for value, frames, is_cut, labels in stacks.read(args.profile):
        period = min(period or value, value)
        python = [f for f in frames if is_python(f)]
        loops = sum(bool(LOOP.search(f[0])) for f in frames)
        if not python and not loops:
            continue
        below += value
        if "[table-pending]" in labels or "[dump-end]" in labels:
            pending += value
            continue
        cut += value * is_cut
        without += value * (not python)
        unknown += value * any(UNKNOWN.match(f[0]) for f in python)
        if not python or is_cut or any(UNKNOWN.match(f[0]) for f in python):
            continue
        if python[-1][0] not in BUSY:
            continue
        name = next((f[0] for f in python if re.match(r"c\d\d$", f[0])), "c39" if python[-1][0] == "spin" else "c41")
        callers = [c[:-1] if c[-1][0] == "native" else c for c in chains[name]]
        if python[:-1] in callers:
            right += value
            count[name] += value
        else:
            wrong += value
            bad.append(f"{name}: {';'.join('%s:%d' % (f[0], f[2]) for f in python)}, not "
                       f"{' or '.join(';'.join('%s:%d' % (f[0], f[2]) for f in c) for c in callers[:2])}")
    period = period or 1
    bad.sort()
    few = [name for name in chains if count[name] < args.few * period]
    if len(few) > 4:  # the first ones may have run before anything was known
        bad.append(f"few samples: {' '.join(few)}")
    if not right:
        bad.append("no chain is there")
    if without > args.missed * 1e6 + 0.005 * below:
        bad.append(f"{without // period} of {below // period} samples have no frame of Python")
    if unknown > 0.01 * below + 0.15e9:  # bodies of modules and classes are gone when they have run
        bad.append(f"{unknown // period} of {below // period} samples have frames without name")
    if cut > 0.005 * below:
        bad.append(f"{cut // period} of {below // period} stacks are cut")
    print(f"{below // period} samples of Python, {without // period} without its frames, {unknown // period} without "
          f"names, {cut // period} cut, {pending // period} early; {right // period} of {(right + wrong) // period} are "
          f"right, in {len(count)} of {len(chains)} chains")
    for line in list(dict.fromkeys(bad))[:12]:
        print("  " + (line if len(line) < 900 else line[:400] + " ... " + line[-400:]))
    sys.exit(bool(bad))


main()
