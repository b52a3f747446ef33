#!/usr/bin/env python3
"""Compares a timeline with what e2e/targets/timeline.c says of its threads: check.py TRACE.json TRUTH [part [COLLAPSED]]

`part`: the recording is not of the target's whole life, so that sums of time are not compared. Prints figures; the
status is 1 if something is wrong.
"""
import collections, json, sys

SLICE = 12000000  # ns: as long as a thread may run at once where others wait, with some room
KINDS = ("running", "runnable", "blocked")
failed = []


def check(what, ok, *figures):
    print(f"{'ok' if ok else 'FAILED':7} {what}:", *figures)
    if not ok:
        failed.append(what)


def near(a, b, share, least):
    return abs(a - b) <= max(share * max(a, b), least)


def slices_of(trace):
    """{(pid, tid): [(begin, end, category, name)]} in ns since the trace began; those of CPUs have category "cpu,running"."""
    out = collections.defaultdict(list)
    for e in trace["traceEvents"]:
        if e["ph"] == "X":
            begin = round(e["ts"] * 1000)
            out[e["pid"], e["tid"]].append((begin, begin + round(e["dur"] * 1000), e["cat"], e["name"]))
    for rows in out.values():
        rows.sort()
    return out


def no_overlap(slices):
    bad = [(who, a, b) for who, rows in slices.items() for a, b in zip(rows, rows[1:]) if b[0] < a[1]]
    check("slices of a thread never overlap", not bad, len(slices), "tracks", bad[:2])
    gaps = [(who, a, b) for who, rows in slices.items() for a, b in zip(rows, rows[1:])
            if rows[0][2] != "cpu,running" and b[0] > a[1] + 1]
    check("nor is there a gap between them", not gaps, gaps[:2])
    odd = {s[3] for rows in slices.values() for s in rows if s[2] in KINDS and not s[3].startswith(s[2])}
    check("names say what the category says", not odd, *odd)


def cpus_agree(slices):
    by_thread = sum(e - b for rows in slices.values() for b, e, cat, _ in rows if cat == "running")
    by_cpu = sum(e - b for rows in slices.values() for b, e, cat, _ in rows if cat == "cpu,running")
    check("CPUs run at least what threads say", by_cpu >= by_thread - 1000, by_cpu, by_thread)


def within(rows, begin, end, category):
    return sum(max(0, min(e, end) - max(b, begin)) for b, e, cat, _ in rows if cat == category)


def times(slices, truth, start, part, left_out):
    whole = max(e for rows in slices.values() for _, e, _, _ in rows)
    for name, tid, begin, end, ran, queued, _ in truth:
        rows = next((r for (_, t), r in slices.items() if t == tid and r[0][2] != "cpu,running"), None)
        if not rows:
            check(f"{name} has a track", False)
            continue
        lo, hi = max(begin - start, 0), min(end - start, whole)
        got = {k: within(rows, lo, hi, k) for k in KINDS}
        check(f"{name}: its slices cover its life", near(sum(got.values()), hi - lo, 0.001, 300000), sum(got.values()), hi - lo)
        if part:
            continue
        # The scheduler counts a thread from the interrupt on that woke it up, some us before it has the CPU, and leaves
        # out the time of other interrupts: 10 us a run where there are thousands of runs; and of other virtual
        # machines. And some kernels switch threads without a word now and then: where two of these follow each other, a slice is missing.
        runs = sum(1 for b, e, cat, _ in rows if cat == "running" and lo <= b < hi)
        check(f"{name}: time on CPUs", near(got["running"], ran, 0.01, max(SLICE, runs * 20000, left_out)), got["running"],
              ran, "in", runs)
        check(f"{name}: time on run queues", near(got["runnable"], queued, 0.02, max(SLICE, runs * 20000)), got["runnable"], queued)


def causes(slices, truth):
    want = {"waiter": "[pipe]", "sleeper": "[sleep]", "ping": "[pipe]", "pong": "[pipe]"}
    for name, tid, *_ in truth:
        rows = next((r for (_, t), r in slices.items() if t == tid and r[0][2] != "cpu,running"), [])
        blocked = collections.Counter()
        for b, e, cat, text in rows:
            if cat == "blocked":
                blocked[text] += e - b
        if name in want and blocked:
            top, ns = blocked.most_common(1)[0]
            check(f"{name}: why it is blocked", top == f"blocked {want[name]}" and ns > 0.95 * sum(blocked.values()),
                  dict(blocked.most_common(3)))


def arrows(trace, truth, part):
    ends = collections.defaultdict(dict)
    for e in trace["traceEvents"]:
        if e["ph"] in "sf":
            ends[e["id"]][e["ph"]] = e["tid"]
    pairs = collections.Counter((a["s"], a["f"]) for a in ends.values() if len(a) == 2)
    check("each arrow has two ends", all(len(a) == 2 for a in ends.values()), len(ends))
    tid = {name: t for name, t, *_ in truth}
    rounds = {name: r for name, *_, r in truth}
    to_ping = sum(n for (a, b), n in pairs.items() if b == tid["ping"])
    to_pong = sum(n for (a, b), n in pairs.items() if b == tid["pong"])
    right = pairs[tid["ping"], tid["pong"]] + pairs[tid["pong"], tid["ping"]]
    check("arrows between ping and pong", right >= 0.999 * (to_ping + to_pong) > 0, right, to_ping + to_pong)
    if not part:
        check("nearly every round has two", right > rounds["ping"], right, rounds["ping"])


def queues(trace, truth):
    """While three threads compute on CPU 0, it has at least these three."""
    rows, last, short, long = [], None, 0, 0
    busy = [t for t in truth if t[0].startswith("busy")]
    start = int(trace["otherData"]["start_monotonic_ns"])
    for e in trace["traceEvents"]:
        if e["ph"] == "C" and e["name"] == "run queue of CPU 0":
            rows.append((round(e["ts"] * 1000), e["args"]["threads"]))
    if not busy:
        return
    lo, hi = max(t[2] for t in busy) - start, min(t[3] for t in busy) - start
    for (a, n), (b, _) in zip(rows, rows[1:]):
        a, b = max(a, lo), min(b, hi)
        if b > a:
            short, long = (short + b - a, long) if n < 3 else (short, long + b - a)
    check("CPU 0 has three threads", rows and long > 0.98 * (short + long) > 0, short, long)


def samples(trace, slices, collapsed):
    """Samples of the event cpu: each where its thread runs, and as many as the profile of the same recording has."""
    if "samples" not in trace:
        return
    running = {tid: [(b, e) for b, e, cat, _ in rows if cat == "running"] for (_, tid), rows in slices.items()}
    instants = [e for e in trace["traceEvents"] if e["ph"] == "i"]
    out = [e for e in instants if not any(b - 20000 <= e["ts"] * 1000 <= f + 20000 for b, f in running.get(e["tid"], []))]
    check("samples are where threads run", len(out) <= 0.01 * len(instants), len(out), len(instants))
    frames = trace["stackFrames"]

    def stack(sf):
        return (stack(frames[sf]["parent"]) if "parent" in frames[sf] else ()) + (frames[sf]["name"],)

    total = collections.Counter(stack(s["sf"]) for s in trace["samples"])
    have = collections.Counter()
    for line in open(collapsed, encoding="utf-8"):
        names, ns = line.rsplit(" ", 1)
        have[tuple(f.removesuffix("_[k]") for f in names.split(";")[1:])] += round(int(ns) / 10101010)
    check("they have the stacks of the profile", total == have and len(instants) == sum(have.values()) > 50,
          len(instants), sum(have.values()), list((total - have).items())[:1], list((have - total).items())[:1])


def main():
    trace = json.load(open(sys.argv[1], encoding="utf-8"))
    part = "part" in sys.argv
    truth = [(r[0], *map(int, r[1:])) for r in (l.split() for l in open(sys.argv[2], encoding="utf-8")) if len(r) == 7]
    left_out = sum(int(l.split()[1]) for l in open(sys.argv[2], encoding="utf-8") if l.startswith("left-out "))
    slices = slices_of(trace)
    start = int(trace["otherData"]["start_monotonic_ns"])
    no_overlap(slices)
    cpus_agree(slices)
    times(slices, truth, start, part, left_out)
    causes(slices, truth)
    arrows(trace, truth, part)
    if not part:
        queues(trace, truth)
    samples(trace, slices, sys.argv[-1])
    sys.exit(bool(failed))


main()
