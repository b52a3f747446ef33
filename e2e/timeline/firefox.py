#!/usr/bin/env python3
"""Has the Firefox Profiler load both files of a timeline, and compares the times in them: firefox.py TRACE.json GECKO.json

FIREFOX: its command (e2e/html/firefox.sh).
"""
import collections, json, os, subprocess, sys, tempfile, time


def firefox(*arguments):
    run = subprocess.run([*os.environ["FIREFOX"].split(), *arguments, "--json"], capture_output=True, text=True)
    return run.stdout if run.returncode == 0 else None


def load(path):
    for _ in range(5):  # its daemon may be slow to start
        if firefox("load", path) is not None:
            return
        time.sleep(2)
    sys.exit(f"the Firefox Profiler does not load {path}")


def markers_of(path):
    """{name of the thread: {marker: (number, ms)}}"""
    load(path)
    try:
        out = {}
        for process in json.loads(firefox("profile", "info"))["processes"]:
            for t in process["threads"]:
                rows = json.loads(firefox("thread", "markers", "--thread", t["threadHandle"]))["byType"]
                out[t["name"]] = {r["markerName"]: (r["count"], r["count"] * (r.get("durationStats") or {"avg": 0})["avg"])
                                  for r in rows}
        return out
    finally:
        firefox("stop")


def slices_of(path):
    trace = json.load(open(path, encoding="utf-8"))
    names = {e["tid"]: e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "thread_name"}
    out = collections.defaultdict(lambda: collections.defaultdict(lambda: (0, 0)))
    for e in trace["traceEvents"]:
        if e["ph"] == "X":
            n, ms = out[names[e["tid"]]][e["name"]]
            out[names[e["tid"]]][e["name"]] = (n + 1, ms + e["dur"] / 1000)
    return out


def sum_of(markers, slice):
    """Number and time of the markers of this name, whoever woke the thread up."""
    found = [v for m, v in markers.items() if m == slice or m.startswith(slice + ", woken up by ")]
    return sum(n for n, _ in found), sum(ms for _, ms in found)


def main():
    with tempfile.TemporaryDirectory() as home:
        os.environ["PROFILER_CLI_SESSION_DIR"] = home
        got, converted = markers_of(sys.argv[2]), markers_of(sys.argv[1])
    want = slices_of(sys.argv[1])
    for name in ("sleeper", "waiter", "busy1", "ping"):
        for slice, (n, ms) in want[name].items():
            have = sum_of(got[name], slice)
            assert have[0] == n and abs(have[1] - ms) <= 0.001 * n + 1e-6, (name, slice, n, ms, have)
        assert any(m.startswith("runnable, woken up by ") for m in got[name]) or name.startswith("busy"), got[name].keys()
    assert any(m.startswith("run queue: ") for m in got["CPU 0"]), list(got["CPU 0"])[:5]
    assert {"sleeper", "ping", "CPU 0"} <= converted.keys(), converted.keys()
    print("the Firefox Profiler loads both, with the same times:", {n: dict(got[n]) for n in ("sleeper",)})


main()
