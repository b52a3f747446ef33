#!/usr/bin/env python3
"""Compares a profile of chains_target.py with what the program has printed; options are those of e2e/scripts/compare.py."""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(sys.path[0]) + "/scripts")
import compare  # noqa: E402

BUSY = ("spin", "native")


def spelled(frames):
    return ";".join("%s:%d" % (f[0], f[2]) for f in frames)


class Python(compare.Language):
    name = "Python"
    loop = "_PyEval_EvalFrameDefault"
    unnamed = 0.15e9  # bodies of modules run once, for a few ms each
    cut = 3  # of 500 samples, so many may happen to be in a trampoline

    def scripts(self, frames):
        """Those of files and texts; line 0: by a map."""
        return [f for f in frames
                if f[2] and (f[1].endswith(".py") or f[1].startswith("<")) or re.match(r"\[python(: gone)?\]$", f[0])]

    def judge(self, own, frames, chains):
        if own[-1][0] not in BUSY:
            return None
        name = next((f[0] for f in own if re.match(r"c\d\d$", f[0])), "c39" if own[-1][0] == "spin" else "c41")
        callers = [c[:-1] if c[-1][0] == "native" else c for c in chains.get(name, [])]
        if own[:-1] in callers:
            return name, ""
        return name, f"{name}: {spelled(own)}, not {' or '.join(spelled(c) for c in callers[:2])}"


compare.main(Python())
