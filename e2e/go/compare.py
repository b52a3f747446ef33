#!/usr/bin/env python3
"""compare.py THEIRS OURS WRAPPERS [SHOW]: two views of the same instants, stack by stack.

THEIRS is runtime/pprof's profile and OURS that of the oracle, both as `go tool pprof -raw` prints them; WRAPPERS is
what go_wrappers says of the program. Prints "SAMPLES EQUAL": theirs, and how many of them have a stack that we have, too, each of ours counted once. SHOW of the
most frequent differences go to stderr.

What runtime/pprof leaves out is left out of both: C's frames, wrappers, and what stands between two stacks. So are
inlined calls: it loses them for good once it has seen a stack that began in sigpanic0. While a callback from C begins
or ends, it shows the call to C that it came through: ours is cut to the same.
"""
import collections
import re
import sys

HIDDEN = {
    "crosscall2",
    "runtime.asmcgocall",
    "runtime.cgocallback",
    "runtime.errorString.Error",  # inlined into its wrapper
    "runtime.goexit",
    "runtime.morestack",
    "runtime.nanotime1",
    "runtime.systemstack_switch",
    "runtime.walltime",
    "time.now",
}
DEPTH = 40  # frames of a stack, from the leaf, that are compared: runtime/pprof has 64 pcs at most


def without_arguments(name):
    start, end = name.find("["), name.rfind("]")
    return name if start < 1 or end < start else name[:start] + "[...]" + name[end + 1 :]


def read_wrappers(path):
    wrappers = {"all": set(), "twice": set()}
    for line in open(path, encoding="utf-8", errors="replace"):
        kind, name = line.rstrip("\n").split(" ", 1)
        wrappers[kind].add(without_arguments(name))
    return wrappers


def outside_callback(frames):
    for i, name in enumerate(frames):
        if name == "runtime.cgocallbackg1":
            return frames
        if name == "runtime.cgocallbackg":
            return frames[frames.index("runtime.cgocall", i) :] if "runtime.cgocall" in frames[i:] else frames
    return frames


def compared(frames, wrappers):
    """The frames that both have. C's names have no dots; ours of unnamed code have brackets."""
    kept = []
    for name in outside_callback(frames):
        if "." not in name or name[0] == "[" or name in HIDDEN or name in wrappers["all"]:
            continue
        if name not in wrappers["twice"] or kept[-1:] != [name]:
            kept.append(name)
    return tuple(kept[:DEPTH])


def read(path, wrappers):
    """A counter of stacks, which are tuples of names, leaf first."""
    samples, places = [], {}
    section, place = "", ""
    for line in open(path, encoding="utf-8", errors="replace"):
        if re.fullmatch(r"(Samples:|Locations|Mappings)\n", line):
            section = line[0]
        sample = re.fullmatch(r"\s*(\d+)\s+\d+: ([\d ]+)\n", line)
        if section == "S" and sample:
            samples.append((int(sample[1]), sample[2].split()))
        if section == "L":
            first = re.match(r"\s*(\d+): 0x[0-9a-f]+ (?:M=\d+ )?(?:\[\w+\] )?(.*)", line)
            place = first[1] if first else place
            function = re.match(r"(.*?) \S*:\d+(?::\d+)? s=", first[2] if first else line.strip())
            if function:
                places[place] = without_arguments(function[1])  # the last one is not inlined
    stacks = collections.Counter()
    for count, ids in samples:
        stacks[compared([places.get(i, "?") for i in ids], wrappers)] += count
    return stacks


def show(what, stacks, n):
    print(f"{what}: {sum(stacks.values())}", file=sys.stderr)
    for stack, count in stacks.most_common(n):
        print(f"  {count} {' < '.join(stack[:14])}", file=sys.stderr)


def main():
    wrappers = read_wrappers(sys.argv[3])
    theirs, ours = read(sys.argv[1], wrappers), read(sys.argv[2], wrappers)
    print(sum(theirs.values()), sum((theirs & ours).values()))
    if len(sys.argv) > 4:
        show("only theirs", theirs - ours, int(sys.argv[4]))
        show("only ours", ours - theirs, int(sys.argv[4]))


main()
