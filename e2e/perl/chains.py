#!/usr/bin/env python3
"""Compares a profile of chains_target.pl with what the program has printed; options are those of e2e/scripts/compare.py."""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(sys.path[0]) + "/scripts")
import compare  # noqa: E402

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


class Perl(compare.Language):
    name = "Perl"
    mapping = "[perl]"
    loop = "Perl_runops_"

    def scripts(self, frames):
        return [parted(f) for f in frames]

    def judge(self, own, frames, chains):
        if own[-1][0] not in BUSY:
            return None
        own = own[:-1] if own[-1][0] == "main::told" else own
        name = next((f[0][6:] for f in own if re.match(r"main::c\d\d$", f[0])), None)
        names = [name] if name else [c for c in chains if chains[c][0][:1] and chains[c][0][0][0] != "(main)"]
        callers = [(c, chain[:-1]) for c in names for chain in chains.get(c, [])]
        right = next((c for c, chain in callers if same(own[:-1], chain)), None)
        if right:
            return right, ""
        return name, f"{name}: {spelled(own)}, not {' or '.join(spelled(c) for _, c in callers[:2])}"


compare.main(Perl())
