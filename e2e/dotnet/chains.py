#!/usr/bin/env python3
"""Compares a profile of chains_target.cs with what the program has printed; options are those of e2e/scripts/compare.py.

Only frames of the program's own are compared: those of the framework may be compiled ahead of time, and have no names."""
import os
import sys

sys.path.insert(0, os.path.dirname(sys.path[0]) + "/scripts")
import compare  # noqa: E402

LEAF = "Chains.Program.Spin"


class Dotnet(compare.Language):
    name = "dotnet"
    mapping = "[dotnet]"
    loop = "coreclr_execute_assembly"

    def scripts(self, frames):
        return [f[0] for f in frames]

    def printed(self, frames):
        return [f[0] for f in frames]

    def judge(self, own, frames, chains):
        own = [f for f in own if f.startswith("Chains.")]
        if not own or own[-1] != LEAF:
            return None
        right = next((c for c in chains if own in chains[c]), None)
        return (right, "") if right else ("", f"{';'.join(own)} is no chain")


compare.main(Dotnet())
