#!/usr/bin/env python3
"""Compares a profile of chains_target.erl with what the program has printed; options are those of e2e/scripts/compare.py.

The line of a chain's last frame is another one than that of which was printed: the frame has gone on since."""
import os
import sys

sys.path.insert(0, os.path.dirname(sys.path[0]) + "/scripts")
import compare  # noqa: E402

LEAVES = {"chains_target:spin/0": "chains_target:burn/2", "chains_target:native/1": "chains_target:repeat/2"}


def once(frames):
    """Erlang leaves out callers at the same place as the one before."""
    return [f for i, f in enumerate(frames) if not i or f != frames[i - 1]]


class Erlang(compare.Language):
    name = "erlang"
    mapping = "[erlang]"
    loop = "process_main"

    def scripts(self, frames):
        return [tuple(f) for f in frames if not f[0].startswith("global::")]

    def printed(self, frames):
        return once([tuple(f) for f in frames])

    def judge(self, own, frames, chains):
        at = next((i for i, f in enumerate(own) if f[0] in LEAVES), None)
        if at is None or at + 1 >= len(own) or own[at + 1][0] != LEAVES[own[at][0]]:
            return None
        own = once(own[:at]) + [own[at][:1]]
        for name, stacks in chains.items():
            if any(own == [*stack[:-1], stack[-1][:1]] for stack in stacks):
                return name, ""
        return "", f"{own} is no chain"


compare.main(Erlang())
