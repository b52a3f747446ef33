#!/usr/bin/env python3
"""Measures whether the unit tests notice faults: makes small ones (mutants) and counts those that no test fails for.

    tools/mutate.py N SEED SOURCE...        in the top folder; make mutate N=50 SEED=1 says which sources

A mutant changes one line: it flips a comparison or a condition, swaps + and - or && and ||, drops a statement, or
returns success for an error. Each is built in a copy of the tree (build/mutate/tree-K, where make compiles the one file
and links) and meets the tests that enter the changed function, those of its own file first, until one fails. A mutant
that hangs is killed; one that does not compile is replaced by another. Survivors are printed as
FILE:LINE: BEFORE -> AFTER. The same SEED chooses the same mutants as long as the sources stay as they are.

Left to the end-to-end tests, and listed at the beginning, are files of which unit tests enter less than half the
functions: commands, and what needs a kernel.

Never chosen, because no unit test could or should notice: log lines, static_assert and static tables, preprocessor
lines, __builtin_expect, lines with capacities (growth is invisible), advice to the kernel and the allocator (madvise,
malloc_trim, elf_will_read), pauses (usleep), progress (analysis_tick), fsync, va_end, locks, condition variables and signal masks (make race sees these), texts
that quote strerror(), names of threads, pointers set to NULL when what they pointed to is freed, and what happens when
memory runs out (-ENOMEM, "out of memory", and flags named `failed` that remember it).

Environment: B (build), JOBS (2), MAKE (make), ONLY (part of a source's name: mutates those files only).
"""
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from queue import Queue

B = os.environ.get("B", "build")
MAKE = os.environ.get("MAKE", "make").split()
JOBS = int(os.environ.get("JOBS", "2"))
TOP = f"{B}/mutate"

# --- Which lines may change, and how.

# Comments, strings and characters become blanks of the same length, so that columns stay.
HIDDEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)
NEVER = re.compile(r"^\s*#|\blog_\w+\(|static_assert|\bassert\(|__builtin_expect|ENOMEM|\bfailed\b|\bcap(acity)?\b|"
                   r"^\s*\*?[\w.>-]+ = NULL;$|\b(HOLD|madvise|posix_fadvise|malloc_trim|elf_(will|have)_read|analysis_(tick|count)|u?sleep|nanosleep|f(data)?sync|"
                   r"va_end|strerror|sigfillset|pthread_\w*(attr|cond|lock|mask|mutex|name)\w*)\(")
SWAPS = [(re.compile(re.escape(a)), b) for a, b in (
    (" == ", " != "), (" != ", " == "), (" < ", " >= "), (" >= ", " < "), (" > ", " <= "), (" <= ", " > "),
    (" && ", " || "), (" || ", " && "), (" + ", " - "), (" - ", " + "), (" += ", " -= "), (" -= ", " += "))]
NEGATION = re.compile(r"(?<=[(\s])!(?=[\w(*])")
ERROR = re.compile(r"\breturn (-E[A-Z0-9]+|-errno|r|rc|ret|err)(?=;)")
TRUTH = re.compile(r"\breturn (true|false)(?=;)")
# A call or an assignment that is a whole line; declarations have two words before the "=" or the name.
STATEMENT = re.compile(r"^\s*(?!return\b|goto\b|else\b|if\b|for\b|while\b|do\b|switch\b|sizeof\b)"
                       r"(?:\(void\))?\*?[a-z_][\w.\[\]]*(?:->[\w.\[\]]+)*(?:\(.*\)| [-+|&^*/%]?=(?!=) .*|\+\+|--);$",
                       re.I)


def blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def function_lines(lines):
    """Numbers of the lines inside of functions, whose braces are in column 0, without static tables and log calls."""
    inside = skipping = False
    for number, line in enumerate(lines):
        if line.startswith("{"):
            inside = True
        elif line.startswith("}"):
            inside = False
        elif inside:
            skipping = skipping or bool(re.match(r"\s+static |.*\blog_\w+\(", line))
            if not skipping:
                yield number
            if line.rstrip().endswith(";"):
                skipping = False


def changes(code, after):
    """(start, end, replacement) of what may change in a line; code is the line without comments and strings."""
    for pattern, new in SWAPS:
        yield from ((m.start(), m.end(), new) for m in pattern.finditer(code))
    if "ENOMEM" not in after:  # if (!memory) return -ENOMEM;
        yield from ((m.start(), m.end(), "") for m in NEGATION.finditer(code))
    yield from ((m.start(1), m.end(1), "0") for m in ERROR.finditer(code))
    yield from ((m.start(1), m.end(1), "false" if m[1] == "true" else "true") for m in TRUTH.finditer(code))


def candidates(path):
    """All mutable lines of a file: (path, line number, line, [replacement lines])."""
    with open(path) as f:
        text = f.read()
    raw, code = text.split("\n"), HIDDEN.sub(blank, text).split("\n")
    for n in function_lines(code):
        if NEVER.search(code[n]) or "no memory" in raw[n] or "out of memory" in raw[n]:
            continue
        after = code[n] + code[n + 1]
        new = [raw[n][:a] + b + raw[n][e:] for a, e, b in changes(code[n], after)]
        whole = STATEMENT.match(code[n].rstrip()) and re.search(r"([;{}):]|else|do|^)\s*$", code[n - 1])
        if whole and code[n].count("(") == code[n].count(")"):
            new.append(re.match(r"\s*", raw[n]).group() + ";")
        if new:
            yield path, n + 1, raw[n], new


# --- Which tests enter a function.

def run(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace", **options)


def must(command):
    done = run(command)
    if done.returncode:
        sys.exit(f"{' '.join(command)}:\n{done.stdout}")
    return done.stdout


def test_environment(**more):
    return dict(os.environ, XPROF_TESTDATA=os.path.abspath(f"{B}/testdata"), **more)


def cover_one(unit, test):
    """The offsets of the functions that a test enters, its seconds, and whether it passes when it runs alone."""
    trace, start = f"{TOP}/{test.rsplit(':', 1)[1]}.trace", time.time()
    done, seconds = run([unit, test], env=test_environment(MUTATE_COVER=trace), timeout=300), time.time() - start
    with open(trace, "rb") as f:
        entered = [m.start() for m in re.finditer(rb"\x01", f.read())]
    os.unlink(trace)
    # A test that reads its own program may need the real one.
    good = done.returncode == 0 or run([f"{B}/unit", test], env=test_environment()).returncode == 0
    return test, entered, seconds, good


def cover():
    """{"functions": {file: {line: [test]}}, "seconds": {test: s}}, made anew when the tests' program changed."""
    os.makedirs(TOP, exist_ok=True)
    hooks, unit, cache = f"{TOP}/cover.o", f"{TOP}/cover/unit", f"{TOP}/cover.json"
    print("building the tests with a record of the functions that they enter", flush=True)
    must(["gcc", "-D_GNU_SOURCE", "-O1", "-c", "-o", hooks, "tools/mutate_cover.c"])
    must(MAKE + [f"-j{JOBS}", f"B={TOP}/cover", "WARN=", 
                  f"SAN=-finstrument-functions -fno-inline -fdebug-prefix-map={os.getcwd()}=. -Wl,{hooks}", unit])
    if os.path.exists(cache) and os.path.getmtime(cache) > os.path.getmtime(unit):
        with open(cache) as f:
            return json.load(f)
    tests = must([unit, "-l"]).split()
    print(f"running {len(tests)} tests one by one", flush=True)
    with ThreadPoolExecutor(JOBS) as pool:
        runs = list(pool.map(lambda t: cover_one(unit, t), tests))
    alone = [test for test, _, _, good in runs if not good]
    if alone:
        print("not used, because they fail when they run alone:", *alone)
    runs = [r[:3] for r in runs if r[3]]
    offsets = sorted({o for _, entered, _ in runs for o in entered})
    where = subprocess.run(["addr2line", "-e", unit], input="\n".join(map(hex, offsets)), text=True, check=True,
                           stdout=subprocess.PIPE).stdout.split("\n")
    place = {o: os.path.normpath(w.split(" ")[0]).rsplit(":", 1) for o, w in zip(offsets, where)}
    functions = {}
    for test, entered, _ in runs:
        for file, line in map(place.get, entered):
            functions.setdefault(file, {}).setdefault(line, []).append(test)
    result = {"functions": functions, "seconds": {t: s for t, _, s in runs}}
    with open(cache, "w") as f:
        json.dump(result, f)
    return result


def tests_of(covered, path, line):
    """The tests of the function around a line: of its own file first, then of its folder; short ones first. The compiler
    may have split a function, so that it begins at several lines."""
    known, first = covered["functions"].get(path, {}), function_start(path, line)
    entered = [t for n in known if n.isdigit() and first <= int(n) <= line for t in known[n]]
    stem, folder = path[:-2], os.path.dirname(path)

    def order(test):
        file = test.rsplit(":", 1)[0]
        return not file.startswith(stem), os.path.dirname(file) != folder, covered["seconds"][test]
    return sorted(set(entered), key=order)


def function_start(path, line):
    """The line of the name of the function around a line."""
    with open(path) as f:
        lines = f.read().split("\n")
    n = line - 1
    while n > 0 and not lines[n].startswith("{"):
        n -= 1
    while n > 0 and (lines[n].startswith(("{", " "))):
        n -= 1
    return n + 1


def is_entered(covered, path):
    """Do unit tests enter half of a file's functions?"""
    with open(path) as f:
        functions = sum(line.startswith("{") for line in f)
    return functions and 2 * len(covered["functions"].get(path, {})) >= functions


# --- Making a mutant and running it.

# Parts of the build folder that the unit tests are not made of; fixtures are used where they are.
NOT_COPIED = ("mutate", "race", "testdata", "fuzz", "fuzz-obj", "corpus", "lint", "xprof")


def copy_tree(k):
    """A copy of the tree with its objects, whose dates stay: make builds there only what a mutant changes."""
    tree = f"{TOP}/tree-{k}"
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(".", tree, symlinks=True, ignore=lambda d, names: [
        n for n in names if d == "." and n in (".git", B.split("/")[0])])
    shutil.copytree(B, f"{tree}/build", symlinks=True, ignore=lambda d, names: [
        n for n in names if d == B and n in NOT_COPIED])
    must(MAKE + ["-C", tree, "B=build", "WARN=-w", "build/unit"])
    return tree


def finished(command, cwd, limits):
    """(exit code or None for a hang, output) of a command, none of whose children stays behind. limits are the seconds
    until its first line, until its second and so on; each test prints a line."""
    with open(f"{cwd}/output", "w+", errors="replace") as out:
        p = subprocess.Popen(command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                             env=test_environment(), start_new_session=True)
        said, since, code = 0, time.time(), None
        while code is None and time.time() - since < limits[min(said, len(limits) - 1)]:
            try:
                code = p.wait(0.5)
            except subprocess.TimeoutExpired:
                with open(out.name, errors="replace") as f:
                    now = len(re.findall(r"^(?:ok  |skip) \w+$", f.read(), re.M))
                if now > said:
                    said, since = now, time.time()
        try:
            os.killpg(p.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        p.wait()
        out.seek(0)
        return code, out.read()


def attempt(mutant, trees, covered):
    """The fate of a mutant: "invalid", "killed" or "survived", and by whom or why."""
    path, line, before, after = mutant
    tests = tests_of(covered, path, line)
    tree = trees.get()
    try:
        with open(path) as f:
            lines = f.read().split("\n")
        lines[line - 1] = after
        with open(f"{tree}/{path}", "w") as f:
            f.write("\n".join(lines))
        code, _ = finished(MAKE + ["B=build", "WARN=-w", "build/unit"], tree, [300])
        if code != 0:
            return "invalid", ""
        if not tests:
            return "survived", "no test enters the function"
        limits = [10 + 20 * covered["seconds"][t] for t in tests]
        code, output = finished(["build/unit", "-x", *tests], tree, limits)
        if code == 0:
            return "survived", f"{len(tests)} tests"
        failed = re.findall(r"^FAIL (\w+)", output, re.M)
        return "killed", "hang" if code is None else failed[0] if failed else "crash"
    finally:
        shutil.copy2(path, f"{tree}/{path}")
        os.utime(f"{tree}/{path}")
        trees.put(tree)


def choose(sources, seed):
    lines = [c for s in sources if os.environ.get("ONLY", "") in s for c in candidates(s)]
    dice = random.Random(seed)
    dice.shuffle(lines)
    return [(path, n, before, dice.choice(after)) for path, n, before, after in lines]


def main():
    wanted, seed, sources = int(sys.argv[1]), int(sys.argv[2]), sorted(sys.argv[3:])
    covered = cover()
    left = [s for s in sources if list(candidates(s)) and not is_entered(covered, s)]
    print("left to end-to-end tests:", *left)
    sources = [s for s in sources if s not in left]
    mutants, trees, counted, survivors, start = choose(sources, seed), Queue(), 0, [], time.time()
    for k in range(JOBS):
        trees.put(copy_tree(k))
    with ThreadPoolExecutor(JOBS) as pool:
        while counted < wanted and mutants:
            batch, mutants = mutants[:wanted - counted], mutants[wanted - counted:]
            for m, (fate, why) in zip(batch, pool.map(lambda m: attempt(m, trees, covered), batch)):
                path, line, before, after = m
                text = f"{path}:{line}: {before.strip()} -> {after.strip()}"
                counted += fate != "invalid"
                survivors += [f"{text}  ({why})"] if fate == "survived" else []
                print(f"[{counted}/{wanted}] {fate:8} {text}  ({why})", flush=True)
    print("\nsurvivors:", *survivors, sep="\n")
    killed = counted - len(survivors)
    print(f"seed {seed}: {killed} of {counted} mutants killed, {100 * killed / max(counted, 1):.0f} %, "
          f"{(time.time() - start) / max(counted, 1):.1f} s each")


if __name__ == "__main__":
    main()
