#!/usr/bin/env python3
"""Compares a profile of chains_target.pl with what the program has printed.

    chains.py PROFILE.pb.gz PRINTED [--missed MS] [--few N]

--missed: of so many ms of samples with Perl's loop, frames need not be there: before they could be known.
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

UNKNOWN = re.compile(r"\[perl(: gone)?\]$")
BUSY = ("main::spin", "main::native", "main::told")


def spelled(frames):
    return ";".join("%s %s:%d" % (f[0], f[1].split("/")[-1], f[2]) for f in frames)


def parted(frame):
    """A file's name may have a blank in it."""
    name = re.match(r"(.+) (\(eval)$", frame[0])
    return (name[1], name[2] + " " + frame[1], frame[2]) if name and frame[1].endswith(")") else frame


def same(got, wanted):
    """A file that is being compiled has no name yet."""
    return len(got) == len(wanted) and all(
        g == w or (not g[1] and w[0] in ("(eval)", "(require)") and (g[0], g[2]) == (w[0], w[2])) for g, w in zip(got, wanted))


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
    n = collections.Counter()
    count, period = collections.Counter(), None
    known = stacks.read(args.profile, "[perl]")
    for (value, perl, _, labels), (_, frames, is_cut, _) in zip(known, stacks.read(args.profile)):
        period, perl = min(period or value, value), [parted(f) for f in perl]
        if not perl and not any("Perl_runops_" in f[0] for f in frames):
            continue
        n["all"] += value
        if "[table-pending]" in labels or "[dump-end]" in labels:
            n["early"] += value
            continue
        n["cut"] += value * is_cut
        n["without"] += value * (not perl)
        n["unknown"] += value * any(UNKNOWN.match(f[0]) for f in perl)
        if not perl or is_cut or any(UNKNOWN.match(f[0]) for f in perl) or perl[-1][0] not in BUSY:
            continue
        if perl[-1][0] == "main::told":
            perl.pop()
        name = next((f[0][6:] for f in perl if re.match(r"main::c\d\d$", f[0])), None)
        own = [name] if name else [c for c in chains if chains[c][0][:1] and chains[c][0][0][0] != "(main)"]
        callers = [(c, chain[:-1]) for c in own for chain in chains[c]]
        is_right = next((c for c, chain in callers if same(perl[:-1], chain)), None)
        n["right" if is_right else "wrong"] += value
        if is_right:
            count[is_right] += value
        else:
            bad.append(f"{name}: {spelled(perl)}, not {' or '.join(spelled(c) for _, c in callers[:2])}")
    period = period or 1
    bad.sort()
    few = sorted(name for name in chains if count[name] < args.few * period)
    if len(few) > 4:  # the first ones may have run before anything was known
        bad.append(f"few samples: {' '.join(few)}")
    if not n["right"]:
        bad.append("no chain is there")
    if n["without"] > args.missed * 1e6 + 0.005 * n["all"]:
        bad.append("too many samples have no frame of Perl")
    if n["unknown"] > 0.01 * n["all"] + 0.15e9:
        bad.append("too many samples have frames without name")
    if n["cut"] > 0.005 * n["all"]:
        bad.append("too many stacks are cut")
    each = {what: value // period for what, value in n.items()}
    print(f"{each.get('all')} samples of Perl, {each.get('without')} without its frames, {each.get('unknown')} without names, "
          f"{each.get('cut')} cut, {each.get('early', 0)} early; {each.get('right')} of "
          f"{each.get('right', 0) + each.get('wrong', 0)} are right, in {len(count)} of {len(chains)} chains")
    for line, times in collections.Counter(bad).most_common(12):
        print(f"  {times}x " + (line if len(line) < 900 else line[:400] + " ... " + line[-400:]))
    sys.exit(bool(bad))


main()
