#!/usr/bin/env python3
"""agree.py TOOL FILE COUNT [llvm|eu]: TOOL (bench/dwarf) and another symbolizer name the same addresses.

Addresses are random places in functions of the symbol table whose code the debug information covers. Compared are depth,
functions, call lines, and file and line of the leaf. Prints one line with the share that is the same, and one with an example for each class
of difference. Exit status 1 below 99.9 %; below 99 % for eu-addr2line, which leaves out an inlined call now and then where
llvm-symbolizer and we do not."""
import bisect, collections, json, os, random, re, subprocess, sys

GOALS = {"llvm": 99.9, "eu": 99.0}
CLONE = re.compile(r"(\.(cold|part|constprop|isra|lto_priv|llvm|localalias|clone)(\.\d+)*)+$|@.*$")


def run(argv, addresses):
    text = "".join(f"{a:#x}\n" for a in addresses)
    return subprocess.run(argv, input=text, capture_output=True, text=True, errors="replace").stdout.splitlines()


def symbols(path):
    """start -> names, [start, end) of each function, and names that are no code's, which llvm-symbolizer takes for some"""
    names, spans, strays = collections.defaultdict(set), {}, set()
    for line in subprocess.run(["readelf", "-sW", path], capture_output=True, text=True).stdout.splitlines():
        f = line.split()
        if len(f) >= 8 and f[3] in ("FUNC", "IFUNC") and f[6] != "UND":
            start, size = int(f[1], 16), int(f[2], 0)
            names[start].add(CLONE.sub("", f[7]))
            if size:
                spans[start] = max(size, spans.get(start, 0))
        elif len(f) >= 8 and f[3] == "NOTYPE":
            strays.add(CLONE.sub("", f[7]))  # gcc's LTO leaves such labels in .debug_*: methodobject.c.ba994888
    return names, sorted((start, start + size) for start, size in spans.items()), strays


def choose(spans, count):
    rnd = random.Random(5)
    weights = [end - start for start, end in spans]
    return [rnd.randrange(start, end) for start, end in rnd.choices(spans, weights, k=count)]


def frame(name, path, line):
    path = os.path.normpath(path) if path and path != "??" else ""
    return (CLONE.sub("", name) if name != "??" else "", path, line)


def ours(tool, path, addresses):
    out = []
    for line in run([tool, "--names", path], addresses):
        frames = []
        for text in line.split("\t")[1:]:
            name, place = text.rsplit("|", 1)
            file, number = place.rsplit(":", 1)
            frames.append(frame(name, file, int(number)))
        out.append(frames)
    return out


def llvm(path, addresses):
    argv = ["llvm-symbolizer", "--obj=" + path, "--inlines", "--functions=linkage", "--no-demangle", "--output-style=JSON"]
    out = []
    for line in run(argv, addresses):
        found = json.loads(line).get("Symbol", [])
        out.append([frame(f["FunctionName"], f["FileName"], f["Line"]) for f in found])
    return out


def eu(path, addresses):
    out, lines = [], iter(run(["eu-addr2line", "-i", "-f", "-a", "-A", "-e", path], addresses))
    for line in lines:
        if re.fullmatch(r"0x[0-9a-f]+", line):
            out.append([])
            continue
        place = re.match(r"(.*?)(?::(\d+))?(?::(\d+))?(?: \(.*\))?$", next(lines, ""))
        out[-1].append(frame(re.sub(r" inlined at .*$", "", line), place[1], int(place[2] or 0)))
    return out


def known(frames):
    return len(frames) > 1 or any(f[2] for f in frames)


def same_name(a, b, aliases, outermost):
    """`aliases` are names of the symbol, and those that are no code's. A scope in front where the other has none, another name of the same symbol, and a name without its mangling (there
    is no symbol table for a debug file's code) are the same."""
    if a == b or a.endswith("::" + b) or (not b and not outermost):  # llvm's 14 reads no names of dwz's common file
        return True
    return outermost and b in aliases and (a in aliases or a.split("::")[-1].strip("~") in b or "." in b)


def difference(a, b, aliases):
    if not known(b):
        return "theirs knows no line"
    if not known(a):
        return "ours knows no line"
    if len(a) != len(b):
        return f"depth: ours {'more' if len(a) > len(b) else 'less'}"
    for i, (x, y) in enumerate(zip(a, b)):
        if not same_name(x[0], y[0], aliases, i == len(a) - 1):
            return "name, outermost" if i == len(a) - 1 else "name, inlined"
        if x[2] != y[2]:
            zero = " (0)" if not x[2] or not y[2] else ""
            return ("call line" if i else "leaf line") + zero
        if os.path.basename(x[1]) != os.path.basename(y[1]):
            return "file"
    return None


def main():
    tool, path, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    other = sys.argv[4] if len(sys.argv) > 4 else "llvm"
    names, spans, strays = symbols(path)
    addresses = choose(spans, count)
    mine, theirs = ours(tool, path, addresses), {"llvm": llvm, "eu": eu}[other](path, addresses)
    if len(mine) != count or len(theirs) != count:
        sys.exit(f"{len(mine)} and {len(theirs)} answers to {count} questions")
    classes, example, starts, asked = collections.Counter(), {}, [s for s, _ in spans], 0
    for address, a, b in zip(addresses, mine, theirs):
        if not known(a) and not known(b):
            continue
        asked += 1
        start = starts[bisect.bisect_right(starts, address) - 1]
        d = difference(a, b, names[start] | strays)
        if d:
            classes[d] += 1
            example.setdefault(d, (address, a, b))
    share = 100 * (1 - sum(classes.values()) / max(1, asked))
    print(f"{os.path.basename(path)} against {other}: {share:.3f} % of {asked} addresses the same")
    for name, n in classes.most_common():
        address, a, b = example[name]
        print(f"  {n} {name}: {address:#x}\n    ours   {a}\n    theirs {b}")
    sys.exit(share < GOALS[other])


if __name__ == "__main__":
    main()
