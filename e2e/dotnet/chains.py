#!/usr/bin/env python3
"""Compares a profile of chains_target.cs with what the program has printed; options are those of e2e/scripts/compare.py.

Those of the framework are most often compiled ahead of time."""
import os
import sys

sys.path.insert(0, os.path.dirname(sys.path[0]) + "/scripts")
import compare  # noqa: E402

LEAF = "Chains.Program.Spin"
NATIVE = "System.RuntimeMethodHandle.InvokeMethod"  # a function of the runtime, which calls the method


class Dotnet(compare.Language):
    name = "dotnet"
    mapping = "[dotnet]"
    loop = "coreclr_execute_assembly"

    def scripts(self, frames):
        return [f[0] for f in frames]

    def printed(self, frames):
        return [f[0] for f in frames if f[0] != NATIVE]

    def judge(self, own, frames, chains):
        if LEAF not in own or own[-1] != LEAF:
            return None
        own = [f[0] for f in frames if f[0].startswith(("Chains.", "System."))]
        right = next((c for c in chains if own in chains[c]), None)
        return (right, "") if right else ("", f"{';'.join(own)} is no chain")


compare.main(Dotnet())
