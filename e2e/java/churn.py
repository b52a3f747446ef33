#!/usr/bin/env python3
"""Judges profiles of Churn.java: churn.py GONE_PERCENT CUT_PERCENT LEAST PROFILE.pb.gz...

All names of a class have its number, so that each frame of a chain must fit the one that called it, and the number must fit
the thread. At most so many percent of the samples have frames whose methods are gone, or are cut; at least so many samples
are there.
"""
import collections
import os
import re
import sys

sys.path.insert(0, os.path.dirname(sys.path[0]))
import stacks  # noqa: E402

NUMBERED = re.compile(r"([TUV])(\d{8})\.(\w+?)(\d{8})?$")
CALLED_BY = {"T.run": "", "T.a": "T.run", "T.b": "T.a", "U.run": "T.b", "U.d": "U.run", "U.e": "U.d", "V.run": "T.b",
             "V.f": "V.run", "T.<init>": "", "U.<init>": "", "V.<init>": ""}
UNKNOWN = re.compile(r"\[(java|java: gone|anonymous)\]$|\[cut")


def wrong(frames):
    """What is wrong with the names of a stack, its root first; "": nothing."""
    threads = [f for f in frames if re.match(r"Churn\$W\d\.go$", f)]
    last, numbers = "", set()
    for frame in frames:
        if UNKNOWN.match(frame):
            last = None  # whoever that is
        parts = NUMBERED.match(frame)
        if not parts:
            continue
        kind, number, method, own = parts.groups()
        name = kind + "." + method
        if own not in (None, number) or name not in CALLED_BY:
            return f"{frame} does not exist"
        if last is not None and CALLED_BY[name] != last:
            return f"{frame} is not called by {last or 'others'}"
        last = name
        numbers.add(number)
    if len(numbers) > 1:
        return "two numbers in one stack"
    if numbers and threads and threads[0][len("Churn$W")] != numbers.pop()[-1]:
        return "a number of another thread"
    return ""


def main():
    gone_most, cut_most, least = (float(a) for a in sys.argv[1:4])
    counts, bad, period = collections.Counter(), collections.Counter(), None
    for path in sys.argv[4:]:
        for value, rows, is_cut, _ in stacks.read(path):
            period = min(period or value, value)
            frames = [f[0] for f in rows]
            counts["all"] += value
            counts["cut"] += value * is_cut
            counts["chain"] += value * any(NUMBERED.match(f) for f in frames)
            for what in ("[java: gone]", "[java]", "[anonymous]"):
                counts[what] += value * (what in frames)
            said = wrong(frames)
            if said:
                bad[said + ": " + ";".join(frames)] += value
    period = period or 1
    total = counts["all"] or 1
    print(f"{total // period} samples, {counts['chain'] // period} in numbered methods, {sum(bad.values()) // period} with "
          "wrong names; " + ", ".join(f"{100 * counts[k] / total:.2f} % {k}" for k in
                                     ("[java: gone]", "[java]", "[anonymous]", "cut")))
    for line, value in bad.most_common(8):
        print(f"  {value // period} {line}")
    few = total // period < least or counts["chain"] < 0.1 * total
    unknown = counts["[java: gone]"] + counts["[java]"]
    if few or bad or unknown > gone_most / 100 * total or counts["cut"] > cut_most / 100 * total:
        sys.exit("there are too few samples" if few else "names are wrong, or too many are missing")


main()
