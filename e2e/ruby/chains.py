#!/usr/bin/env python3
"""Compares a profile of chains_target.rb with what the program has printed; options are those of e2e/scripts/compare.py."""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(sys.path[0]) + "/scripts")
import compare  # noqa: E402

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


class Ruby(compare.Language):
    name = "Ruby"
    mapping = "[ruby]"
    loop = "ruby_run_node|rb_vm_exec"

    def judge(self, own, frames, chains):
        spins = [i for i, f in enumerate(own) if f[0] == SPIN]
        if not spins or any(f[0] == "Object#tell" for f in own):
            return None
        ours = own[:spins[-1]]
        name = next((name for name in chains if any(is_chain(ours, c) for c in chains[name])), None)
        if name:
            return name, ""
        near = next((f[0][-3:] for f in ours if re.search(r"#c\d\d$", f[0])), "")
        return near, f"{near}: {show(ours)}, not {' or '.join(show_truth(c) for c in chains.get(near, [])[:2])}"


compare.main(Ruby())
