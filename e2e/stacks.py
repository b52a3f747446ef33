"""Reads the stacks of a pprof profile: lists of frames (name, file, line), the root first, inlined calls included."""
import re
import subprocess

FRAME = re.compile(r"(?:.* M=\d+ )?(.+?) (\(eval at .*?\)|\S*?):(\d+):\d+ s=\d+(?:\(.*\))?$")


def frame(text):
    parts = FRAME.match(text)
    return (parts[1].strip(), parts[2], int(parts[3])) if parts else (text, "", 0)


def read(path, mapping=""):
    """Returns a list of (count, frames, cut, labels); cut: the stack is truncated. mapping: only frames of this one."""
    raw = subprocess.run(["go", "tool", "pprof", "-symbolize=none", "-raw", path],
                         check=True, capture_output=True, text=True).stdout.splitlines()
    locations, samples, part, at = {}, [], "", 0
    number_of = next((line.split(":")[0] for line in raw if mapping and re.match(rf"\d+: \S+ {re.escape(mapping)}", line)), "")
    for line in raw:
        if line in ("Locations", "Mappings") or line.startswith("Samples:"):
            part = line
        elif part.startswith("Samples") and re.match(r"[ 0-9-]+:( \d+)*\s*$", line):
            values, ids = line.split(":")
            samples.append([int(values.split()[-1]), [int(i) for i in ids.split()], ""])
        elif part.startswith("Samples") and samples:
            samples[-1][2] += line.strip() + " "
        elif part == "Locations":
            number = re.match(r" *(\d+): (0x\S+ )?(M=\d+ )?(.*)$", line)
            if number:
                at = int(number[1])
                locations[at] = [number[4]]
                if mapping and number[3] != f"M={number_of} ":
                    del locations[at]
            elif at in locations:
                locations[at].append(line.strip())
    named = {i: [frame(f) for f in frames] for i, frames in locations.items()}
    out = []
    for value, ids, labels in samples:
        frames = [f for i in ids for f in named.get(i, [])]
        out.append((value, frames[::-1], "cut:[" in labels or any(f[0].startswith("[cut") for f in frames), labels))
    return out
