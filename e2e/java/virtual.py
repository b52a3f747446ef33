#!/usr/bin/env python3
"""Judges a profile of Virtual.java: virtual.py PROFILE.pb.gz

Stacks of virtual threads go down to the start of the thread that carries them. Their own frames are all there, or those
below the ones that have run since they were mounted are one frame: "[virtual thread: frozen callers]".
"""
import collections
import os
import sys

sys.path.insert(0, os.path.dirname(sys.path[0]))
import stacks  # noqa: E402

FROZEN = "[virtual thread: frozen callers]"
CHAINS = {
    "work": ["work", "work1", "spin"],
    "again": ["again", "again1", "again2", "again3", "slice"],
    "back": ["back", "slice"],
}


def judge(frames, chain):
    """Returns "" (all frames), "frozen", or what is wrong."""
    if "start_thread" not in frames[:2]:
        return "does not begin at the start of a thread"
    if "jdk.internal.vm.Continuation.enterSpecial" not in frames:
        return "does not go through the frame that mounts"
    if frames.count(FROZEN) > 1:
        return "is frozen twice"
    own = [f[len("Virtual."):] for f in frames if f.startswith("Virtual.") and "lambda" not in f]
    if FROZEN not in frames:
        return "" if own == chain and "java.lang.VirtualThread.run" in frames else "lacks frames"
    above = frames[frames.index(FROZEN) + 1:]
    if not above[0].startswith("Virtual.") or chain[-len(own):] != own:
        return "has other frames than those that have run"
    return "frozen"


def main():
    kinds, bad, period = collections.Counter(), collections.Counter(), None
    for value, rows, cut, _ in stacks.read(sys.argv[1]):
        period = min(period or value, value)
        frames = [f[0] for f in rows]
        tops = {"Virtual.work1": "work", "Virtual.again3": "again", "Virtual.back": "back"}
        found = [kind for top, kind in tops.items() if top in frames]
        if not found or not {"Virtual.spin", "Virtual.slice"} & set(frames):
            continue
        said = "is cut" if cut else judge(frames, CHAINS[found[0]])
        kinds[found[0] + (" frozen" if said == "frozen" else "")] += value
        if said not in ("", "frozen"):
            bad[said + ": " + ";".join(frames)] += value
    total, wrong = sum(kinds.values()), sum(bad.values())
    period = period or 1
    print(f"{total // period} samples of virtual threads, {wrong // period} wrong; " +
          ", ".join(f"{kind} {n // period}" for kind, n in sorted(kinds.items())))
    for text, n in bad.most_common(6):
        print(f"  {n // period} {text if len(text) < 700 else text[:350] + ' ... ' + text[-350:]}")
    few = [kind for kind in ("work", "again frozen", "back frozen") if kinds[kind] < 30 * period]
    if few:
        print(f"  too few samples of: {', '.join(few)}")
    sys.exit(wrong > 0.005 * total or bool(few))


main()
