#!/usr/bin/env python3
"""Compares a profile of chains_target.php with what the program has printed.

    chains.py PROFILE.pb.gz PRINTED [--missed MS] [--few N]

--missed: of so many ms of samples with the engine's loop, frames need not be there: before they could be known.
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

UNKNOWN = re.compile(r"\[php(: gone)?\]$")
CALLED = ("hrtime",)  # by the leaf
FIBERS = ("c73", "c74")  # have stacks of their own; the frames of who resumed them are behind their root


def text(frame):
    """Names of files may have blanks, which profiles' text does not tell from those before names."""
    return f"{frame[0]} {frame[1]}".strip(), frame[2]


def show(chain):
    return ";".join(f"{os.path.basename(f[0])}:{f[1]}" for f in chain)


def is_right(frames, chain, leaf):
    """The leaf is in its loop; it may have called a function that is implemented in C."""
    frames = frames[:-1] if frames[-1][0] in CALLED else frames
    if frames[:-1] != chain[:-1] or frames[-1][0] != chain[-1][0]:
        return False
    return not chain[-1][1] or leaf <= frames[-1][1] <= leaf + 8


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
        chains[name].append([text(f) for f in frames])
    count, lines = collections.Counter(), collections.Counter()
    below, without, unknown, cut, pending, right, wrong, period = 0, 0, 0, 0, 0, 0, 0, None
    php = stacks.read(args.profile, "[php]")
    for (value, frames, is_cut, labels), (_, own, _, _) in zip(stacks.read(args.profile), php):
        period = min(period or value, value)
        own = [text(f) for f in own]
        if not own and not any(f[0].startswith("execute_ex") for f in frames):
            continue
        below += value
        if "[table-pending]" in labels or "[dump-end]" in labels:
            pending += value
            continue
        cut += value * is_cut
        without += value * (not own)
        is_unknown = any(UNKNOWN.match(f[0]) for f in own)
        unknown += value * is_unknown
        name = next((f[0].split()[0] for f in own if re.match(r"c\d\d ", f[0])), "c90")  # called by the engine
        if not own or is_cut or is_unknown or name not in chains:
            continue
        if not re.match(r"(spin|hash|hrtime)( |$)", own[-1][0]):
            continue
        below_root = name in FIBERS or own[0] != text(frames[0])
        if below_root and any(is_right(own, chain, chain[-1][1] + 1) for chain in chains[name]):
            right += value
            count[name] += value
            lines[own[-1][1]] += value
        else:
            wrong += value
            bad.append(f"{name}: {show(own)}, not {' or '.join(show(chain) for chain in chains[name])}")
    period = period or 1
    bad.sort()
    few = [name for name in chains if count[name] < args.few * period]
    if len(few) > 12:  # the first ones may have run before anything was known; machines may be busy
        bad.append(f"few samples: {' '.join(few)}")
    if not right:
        bad.append("no chain is there")
    if wrong > 0.005 * (right + wrong):
        bad.append(f"{wrong // period} of {(right + wrong) // period} samples are wrong")
    if without > args.missed * 1e6 + 0.005 * below:
        bad.append(f"{without // period} of {below // period} samples have no frame of PHP")
    if unknown > 0.01 * below + 0.2e9:  # what was read too late: files that were run once, closures
        bad.append(f"{unknown // period} of {below // period} samples have frames without name")
    if cut > 0.005 * below:
        bad.append(f"{cut // period} of {below // period} stacks are cut")
    print(f"{below // period} samples of PHP, {without // period} without its frames, {unknown // period} without "
          f"names, {cut // period} cut, {pending // period} early; {right // period} of {(right + wrong) // period} are "
          f"right, in {len(count)} of {len(chains)} chains")
    print("  lines of the leaf: " + " ".join(f"{k}:{v // period}" for k, v in sorted(lines.items())))
    for line in list(dict.fromkeys(bad))[:12]:
        print("  " + (line if len(line) < 900 else line[:400] + " ... " + line[-400:]))
    sys.exit(bool(bad))


main()
