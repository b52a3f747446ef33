"""Compares allocations that xprof has seen exactly with what heaptrack has written of the same program.

    heaptrack.py RAW_HEAPTRACK_FILE PPROF_TEXT PROCESS   (the text is what `go tool pprof -raw` prints of a --raw profile)

Prints OUR_BLOCKS ITS_BLOCKS OUR_BYTES ITS_BYTES PATHS: how many of the ten paths with the most bytes are the same, at the
same place. A path is a list of modules and addresses in them, from the caller of the allocator to the root. Both write
return addresses.
"""
import os
import re
import sys


def read_heaptrack(name):
    """Path -> [blocks, bytes]. Lines: x program, m module, t trace, + allocation; numbers are hexadecimal."""
    traces, modules, sums, program = [((), 0)], [], {}, ""
    counts = {}
    with open(name) as lines:
        for line in lines:
            kind = line[0]
            if kind == "+":
                size, trace, _ = line[2:].split(" ", 2)
                sums_of = counts.setdefault(int(trace, 16), [0, 0])
                sums_of[0] += 1
                sums_of[1] += int(size, 16)
            elif kind == "t":
                address, parent = (int(x, 16) for x in line[2:].split())
                traces.append((address, parent))
            elif kind == "x":
                program = line.split(" ", 2)[2].strip()
            elif kind == "m" and not line.startswith("m 1 -"):
                length = int(line[2 : line.index(" ", 2)], 16)
                at = line.index(" ", 2) + 1
                path, rest = line[at : at + length], line[at + length :].split()
                base, parts = int(rest[0], 16), [int(x, 16) for x in rest[1:]]
                for start, size in zip(parts[::2], parts[1::2]):
                    modules.append((base + start, base + start + size, base, program if path == "x" else os.path.realpath(path)))
    modules.reverse()  # addresses of what was unloaded may be another's later
    places = {}

    def place(address):
        if address not in places:
            found = [m for m in modules if m[0] <= address < m[1]]
            places[address] = (os.path.basename(found[0][3]), address - found[0][2]) if found else ("?", address)
        return places[address]

    for trace, (blocks, size) in counts.items():
        path = []
        while trace:
            address, trace = traces[trace]
            path.append(place(address))
        known = sums.setdefault(tuple(path), [0, 0])
        known[0] += blocks
        known[1] += size
    return sums


def read_pprof(name, process):
    """The same of a process in a profile, whose stacks begin with the allocator."""
    samples, places, modules, sums, part = [], {}, {}, {}, ""
    with open(name) as lines:
        for line in lines:
            if line.startswith(("Samples:", "Locations", "Mappings")):
                part = line[0]
            elif part == "S" and re.match(r" *\d+ +\d+ +\d+ +\d+:", line):
                values, ids = line.split(":")
                samples.append([values.split(), ids.split(), ""])
            elif part == "S" and (found := re.match(r" *process:\[(.*?)\](?: [a-z]+:|$)", line)):
                samples[-1][2] = found[1]
            elif part == "L":
                found = re.match(r" *(\d+): 0x([0-9a-f]+) M=(\d+)", line)
                if found:
                    places[found[1]] = (found[3], int(found[2], 16))
            elif part == "M":
                modules[line.split(":")[0].strip()] = os.path.basename(line.split()[2])
    for values, ids, whose in samples:
        if whose != process:
            continue
        path = tuple((modules.get(places[i][0], "?"), places[i][1]) for i in ids[1:] if i in places)
        known = sums.setdefault(path, [0, 0])
        known[0] += int(values[0])
        known[1] += int(values[1])
    return sums, set(modules.values())


def without_its_own(sums, modules):
    """heaptrack is in C++, and brings its library along."""
    return {p: v for p, v in sums.items() if not p or not p[0][0].startswith("libstdc++") or p[0][0] in modules}


def main():
    ours, modules = read_pprof(sys.argv[2], os.path.basename(sys.argv[3])[:15])
    its = without_its_own(read_heaptrack(sys.argv[1]), modules)

    def total(sums, which):
        return sum(v[which] for v in sums.values())

    def top(sums):
        return sorted(sums, key=lambda p: (-sums[p][1], p))[:10]

    def agree(a, b):
        """In our paths, functions of scripts stand in place of those of their interpreter, which heaptrack has."""
        native = next((i for i, (module, _) in enumerate(a) if module.startswith("[")), None)
        if native is not None:
            return a[:native] == b[:native] and ours[a] == its[b]
        return a == b or ours[a][1] == its.get(a, [0, 0])[1] == its[b][1]

    same = sum(agree(a, b) for a, b in zip(top(ours), top(its)))
    print(total(ours, 0), total(its, 0), total(ours, 1), total(its, 1), same)
    if "-v" in sys.argv:
        for a, b in zip(top(ours), top(its)):
            print(ours[a], a[:4], "|", its[b], b[:4], file=sys.stderr)


main()
