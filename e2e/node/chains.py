#!/usr/bin/env python3
"""Compares a profile of chains_target.js with what the program has printed.

    chains.py PROFILE.pb.gz PRINTED [--lines exact|function|none] [--inlined missing|shown] [--builtins missing|shown]
              [--few N] [--wrong PERCENT]

--lines: exact: those of the calls; function: or those where the functions begin. That of the leaf is not compared.
--inlined: missing: callers that the compiler has inlined need not be there.
--builtins: missing: the compiler has inlined some of them, of which it leaves no trace.
--few: chains with fewer samples than N are bad (3).
--wrong: so many percent of the samples in chains may differ from the program's stacks (0).
"""
import argparse
import collections
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(sys.path[0]))
import stacks  # noqa: E402

LEAF = re.compile(r"leaf_")
HIDDEN = ("(anonymous)", "", 0)  # builtins that go on with async functions, which V8 leaves out of its stacks
UNKNOWN = re.compile(r"\[javascript(: gone)?\]$")
EVALUATED = ("eval", "anonymous")
INITIALIZER = "<instance_members_initializer>"  # has the name of its class in later versions
NATIVE = (["stringify", "", 0], ["parse", "", 0])  # builtins in C++, which are functions of C++ in the stack


def name_of(name):
    """Closures of one function can have different names if these are computed, as those of "[Symbol.iterator]" are."""
    return "(anonymous)" if name in EVALUATED or name.startswith("[") else name


def fits(shown, own, lines):
    named = name_of(shown[0]) == name_of(own[0]) or own[0] == INITIALIZER
    if not named or shown[1] != own[1]:
        return False
    if lines == "none" or LEAF.match(own[0]) or shown[2] == own[2]:
        return True
    return lines == "function" and shown[2] == own[3]


def is_right(shown, own, lines, inlined, builtins):
    if builtins == "missing":
        shown, own = [f for f in shown if f[1] or f[2]], [f for f in own if f[1] or f[2]]
    if inlined == "shown":
        return len(shown) == len(own) and all(fits(s, o, lines) for s, o in zip(shown, own))
    rest = iter(own)
    return all(any(fits(s, o, lines) for o in rest) for s in shown)


def text_of(frames):
    return " < ".join(f"{f[0]} {os.path.basename(f[1])}:{f[2]}" for f in frames)


def differs(shown, own, lines):
    """The part of two lists that differs, with a frame around it."""
    i = j = 0
    while i < min(len(shown), len(own)) and fits(shown[i], own[i], lines):
        i += 1
    while j < min(len(shown), len(own)) - i and fits(shown[-1 - j], own[-1 - j], lines):
        j += 1
    i, j = max(i - 1, 0), max(j - 1, 0)
    return f"at {i}: {text_of(shown[i:len(shown) - j])}, not {text_of(own[i:len(own) - j])}"


def main():
    options = argparse.ArgumentParser()
    options.add_argument("profile")
    options.add_argument("printed")
    options.add_argument("--lines", choices=("exact", "function", "none"), default="exact")
    options.add_argument("--inlined", choices=("missing", "shown"), default="shown")
    options.add_argument("--builtins", choices=("missing", "shown"), default="shown")
    options.add_argument("--few", type=int, default=3)
    options.add_argument("--wrong", type=float, default=0)
    args = options.parse_args()
    chains = collections.defaultdict(list)
    for line in open(args.printed, encoding="utf-8"):
        name, frames = json.loads(line)
        frames = [f for f in frames if f[:3] not in NATIVE]
        if frames not in chains[name]:
            chains[name].append(frames)
    callers = {tuple(name_of(f[0]) for f in own[1:]) for c in chains.values() for own in c}
    count, seen, bad = collections.Counter(), collections.Counter(), []
    wrong, examples, period = collections.Counter(), {}, None
    for value, shown, _, labels in stacks.read(args.profile, "[javascript]"):
        period = min(period or value, value)
        shown.reverse()  # the leaf first, as the program prints them
        if not shown:
            continue
        count["javascript"] += value
        count["without names"] += value * any(UNKNOWN.match(f[0]) for f in shown)
        leaf = next((i for i, f in enumerate(shown) if LEAF.match(f[0])), None)
        if leaf is None:
            called = tuple(name_of(f[0]) for f in shown if f != HIDDEN)
            count["callers"] += value * (called in callers)
            continue
        name, shown = shown[leaf][0], [f for f in shown[leaf:] if f != HIDDEN]
        if "[table-pending]" in labels or "[dump-end]" in labels:
            count["early"] += value
        elif "cut:[" in labels:
            count["cut"] += value
        else:
            count["chains"] += value
            seen[name] += value
            if any(is_right(shown, own, args.lines, args.inlined, args.builtins) for own in chains[name]):
                count["right"] += value
                exact = (is_right(shown, own, "exact", "shown", args.builtins) for own in chains[name])
                count["exact"] += value * any(exact)
            else:
                wrong[name] += value
                own = min(chains[name], key=lambda c: (abs(len(c) - len(shown)), len(c)), default=[])
                examples.setdefault(name, differs(shown, own, args.lines))
    period = period or 1
    few = [name for name in chains if seen[name] < args.few * period]
    if len(few) > 4:  # the first ones may have run before anything was known
        bad.append(f"few samples: {' '.join(few)}")
    if not count["right"]:
        bad.append("no chain is there")
    if sum(wrong.values()) > args.wrong / 100 * count["chains"]:
        bad += [f"{name}: {v // period} of {seen[name] // period} {examples[name]}" for name, v in wrong.most_common()]
    if count["without names"] > 0.01 * count["javascript"] + 0.15e9:  # what runs once, and the worker at its end
        bad.append(f"{count['without names'] // period} of {count['javascript'] // period} samples have frames "
                   "without name")
    if count["cut"] > 0.005 * count["javascript"]:
        bad.append(f"{count['cut'] // period} stacks are cut")
    others = "callers", "without names", "cut", "early"
    print(f"{count['javascript'] // period} samples of JavaScript, {count['chains'] // period} in {len(seen)} of "
          f"{len(chains)} chains: {count['right'] // period} are right, "
          f"{100 * count['exact'] / max(count['chains'], 1):.2f} % exact; "
          + ", ".join(f"{count[key] // period} {key}" for key in others))
    for line in bad[:12]:
        print("  " + (line if len(line) < 900 else line[:400] + " ... " + line[-400:]))
    sys.exit(bool(bad))


main()
