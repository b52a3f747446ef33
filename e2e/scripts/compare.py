"""Compares a profile of a chains_target program with what the program has printed.

    chains.py PROFILE.pb.gz PRINTED [--missed MS] [--few N]

--missed: of so many ms of samples with the interpreter's loop, frames need not be there: before they could be known.
--few: chains with fewer samples than N are bad (3).

The program prints a line [NAME, FRAMES] for each chain, several if a chain has several stacks. chains.py of each language
says what is special there, in a subclass of Language, and ends with main().
"""
import argparse
import collections
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import stacks  # noqa: E402

SHOWN = 12  # lines about what is wrong


class Language:
    name = ""
    mapping = ""  # only frames of this mapping are those of scripts; without it, all are
    loop = ""  # a pattern: the interpreter's functions that run scripts
    few_chains = 4  # so many chains may have few samples: the first ones may have run before anything was known
    unnamed = 0.05e9  # besides 1 %, so many ns of samples may have frames without name: what runs once is gone afterwards
    cut = 0  # besides 0.5 %, so many stacks may be cut

    def scripts(self, frames):
        """The frames of scripts among those of the mapping."""
        return frames

    def printed(self, frames):
        """A stack of a chain, to be compared with a result of scripts()."""
        return [tuple(f) for f in frames]

    def judge(self, own, frames, chains):
        """Compares the frames of scripts with the chains: NAME: [STACK...]. frames: the whole stack.

        Returns None if the stack is of no chain, else the name of the chain and what is wrong; "": nothing."""
        raise NotImplementedError

    def right(self, own, value):
        """Is told of each stack that is right."""

    def notes(self, period):
        """Further lines for the report."""
        return []


def read_chains(language, path):
    chains = {}
    for line in open(path, encoding="utf-8"):
        name, frames = json.loads(line)
        chains.setdefault(name, []).append(language.printed(frames))
    return chains


def count(language, path, chains):
    """Returns sums of ns by what the samples are, those that are right by chain, and how often which stack is wrong."""
    unknown = re.compile(rf"\[{language.name.lower()}(: gone)?\]$")
    n, of, wrong = collections.Counter(), collections.Counter(), collections.Counter()
    samples = stacks.read(path)
    of_mapping = stacks.read(path, language.mapping) if language.mapping else samples
    for (value, frames, is_cut, labels), (_, own, _, _) in zip(samples, of_mapping):
        n["period"] = min(n["period"] or value, value)
        own = language.scripts(own)
        if not own and not any(re.search(language.loop, f[0]) for f in frames):
            continue
        n["all"] += value
        if "[table-pending]" in labels or "[dump-end]" in labels:
            n["early"] += value
            continue
        is_unknown = any(unknown.match(f[0]) for f in own)
        n["cut"] += value * is_cut
        n["without"] += value * (not own)
        n["unknown"] += value * is_unknown
        found = None if not own or is_cut or is_unknown else language.judge(own, frames, chains)
        if not found:
            continue
        chain, what = found
        n["wrong" if what else "right"] += value
        if what:
            wrong[what] += 1
        else:
            of[chain] += value
            language.right(own, value)
    return n, of, wrong


def report(language, n, of, wrong, chains, args):
    """Prints it; returns whether something is wrong."""
    period, bad = n["period"] or 1, []
    each = {what: n[what] // period for what in ("all", "without", "unknown", "cut", "early", "right", "wrong")}
    in_chains = each["right"] + each["wrong"]
    few = [name for name in chains if of[name] < args.few * period]
    if len(few) > language.few_chains:
        bad.append(f"few samples: {' '.join(few)}")
    if not n["right"]:
        bad.append("no chain is there")
    if n["without"] > args.missed * 1e6 + 0.005 * n["all"]:
        bad.append(f"{each['without']} of {each['all']} samples have no frame of {language.name}")
    if n["unknown"] > 0.01 * n["all"] + language.unnamed:
        bad.append(f"{each['unknown']} of {each['all']} samples have frames without name")
    if n["cut"] > 0.005 * n["all"] + language.cut * period:
        bad.append(f"{each['cut']} of {each['all']} stacks are cut")
    if wrong:
        bad.append(f"{each['wrong']} of {in_chains} samples are wrong")
    print(f"{each['all']} samples of {language.name}, {each['without']} without its frames, {each['unknown']} without names, "
          f"{each['cut']} cut, {each['early']} early; {each['right']} of {in_chains} are right, in {len(of)} of "
          f"{len(chains)} chains")
    for line in language.notes(period):
        print("  " + line)
    for line in (bad + [f"{times}x {what}" for what, times in wrong.most_common(SHOWN)])[:SHOWN]:
        print("  " + (line if len(line) < 900 else line[:400] + " ... " + line[-400:]))
    return bool(bad)


def main(language):
    options = argparse.ArgumentParser()
    options.add_argument("profile")
    options.add_argument("printed")
    options.add_argument("--missed", type=int, default=0)
    options.add_argument("--few", type=int, default=3)
    args = options.parse_args()
    chains = read_chains(language, args.printed)
    sys.exit(report(language, *count(language, args.profile, chains), chains, args))
