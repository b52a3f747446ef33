#!/usr/bin/env python3
"""sampled.py PROFILE.pb.gz DEBUG_FILE...: what a profile says of its addresses, and what llvm-symbolizer does.

PROFILE is one that was recorded with --raw and named by `xprof symbolize`: its addresses are those of the files. Compared are all
locations of the mappings whose build ID one of the debug files has, as agree.py compares them. Prints a line per file: the
share of locations that are the same, and that of the samples that ran through them; and an example of each difference.
Exit status 1 below 99.9 % of the samples of a file, or when the profile has none of it."""
import bisect, collections, os, re, subprocess, sys

import agree


def build_id(path):
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True).stdout
    return re.search(r"Build ID: ([0-9a-f]+)", notes)[1]


def read(profile):
    """mapping -> build ID; location -> [mapping, address, frames, samples]"""
    text = subprocess.run(["go", "tool", "pprof", "-raw", "-symbolize=none", profile], capture_output=True, text=True, check=True).stdout
    part, mappings, locations, counts, last = "", {}, {}, collections.Counter(), None
    for line in text.splitlines():
        word = line.split()
        if line in ("Locations", "Mappings"):
            part = line
        elif part == "Locations":
            m = re.match(r"\s*(\d+): (0x[0-9a-f]+) (?:M=(\d+) )?(.*)$", line)
            if m:
                last = locations[m[1]] = [m[3], int(m[2], 16), [], 0]
            place = re.match(r"(.*) (\S*):(\d+):\d+ s=\d+(?:\((.*)\))?$", (m[4] if m else line).strip())
            if place:  # the name as it is shown, and behind it that of the file if they differ
                last[2].append(agree.frame(place[4] or place[1], place[2], int(place[3])))
        elif part == "Mappings" and len(word) > 3:
            mappings[word[0].rstrip(":")] = word[3]
        elif re.match(r"\s*\d+ +\d+: [\d ]+$", line):
            for location in set(line.split(":")[1].split()):
                counts[location] += int(word[0])
    for key, n in counts.items():
        if key in locations:
            locations[key][3] = n
    return mappings, locations


def compare(path, found):
    names, spans, strays = agree.symbols(path)
    starts = [start for start, _ in spans]
    addresses = [address for _, address, _, _ in found]
    classes, example, asked, samples, wrong = collections.Counter(), {}, 0, 0, 0
    for (_, address, mine, n), theirs in zip(found, agree.llvm(path, addresses)):
        if not agree.known(mine) and not agree.known(theirs):
            continue
        asked += 1
        samples += n
        at = starts[max(0, bisect.bisect_right(starts, address) - 1)] if starts else 0
        d = agree.difference(mine, theirs, names[at] | strays)
        if d:
            wrong += n
            classes[d] += 1
            example.setdefault(d, (address, mine, theirs))
    share = 100 * (1 - wrong / samples) if samples else 0
    same = asked - sum(classes.values())
    print(f"{os.path.basename(path)}: {same} of {asked} addresses the same, {share:.3f} % of {samples} samples' frames")
    for name, n in classes.most_common():
        address, mine, theirs = example[name]
        print(f"  {n} {name}: {address:#x}\n    ours   {mine}\n    theirs {theirs}")
    return share >= 99.9


def main():
    mappings, locations = read(sys.argv[1])
    good = True
    for path in sys.argv[2:]:
        ours = build_id(path)
        good &= compare(path, [l for l in locations.values() if mappings.get(l[0]) == ours])
    sys.exit(not good)


main()
