"""What `xprof stack` says of a process that gdb has stopped, and what gdb does: frame by frame, by address.

    PID=... STOPS=50 XPROF=... gdb -batch -nx -x e2e/nocfi/gdb.py

Only stops whose innermost frame is in code without FDE count; gdb's stack is sound if every address of it lies in executable
memory and it ends where programs and threads begin. Its inlined and tail-call frames are left out: nothing on the stack
says that they are there. Prints a JSON line: stops, how many of gdb's are sound, equal, and complete only with us, and the
differences."""
import bisect, json, os, random, subprocess, time

import gdb

PID, STOPS, XPROF = int(os.environ["PID"]), int(os.environ.get("STOPS", 50)), os.environ["XPROF"]
ENDS = ("_start", "clone", "clone3", "__clone", "__clone3", "start_thread")


def quiet(command):
    return gdb.execute(command, to_string=True)


class Ranges:
    """[start, end) of the FDEs of files, by link-time address"""

    def __init__(self):
        self.files = {}

    def covers(self, path, address):
        if path not in self.files:
            out = subprocess.run(["readelf", "--debug-dump=frames-interp", path], capture_output=True, text=True).stdout
            found = [l.split("pc=")[1].split()[0].split("..") for l in out.splitlines() if " FDE " in l]
            self.files[path] = sorted((int(a, 16), int(b, 16)) for a, b in found)
        ranges = self.files[path]
        at = bisect.bisect_right(ranges, (address, 1 << 64)) - 1
        return at >= 0 and address < ranges[at][1]


def mappings():
    out = []
    for line in open(f"/proc/{PID}/maps"):
        f = line.split(None, 5)
        start, end = (int(x, 16) for x in f[0].split("-"))
        if "x" in f[1]:
            out.append((start, end, int(f[2], 16), f[5].strip() if len(f) > 5 else ""))
    return out


def place(maps, pc):
    """(path, file offset) of an address; None: it is not executable"""
    return next(((path, pc - start + offset) for start, end, offset, path in maps if start <= pc < end), None)


def gdbs_stack(maps):
    pcs, last, frame = [], "", gdb.newest_frame()
    try:
        while frame and len(pcs) < 200:
            if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
                pcs.append(frame.pc())
                last = frame.name() or ""
            frame = frame.older()
    except gdb.error:
        return pcs, False
    return pcs, all(place(maps, pc) for pc in pcs) and last in ENDS


def our_stacks():
    out = subprocess.run([XPROF, "stack", "--json", str(PID)], capture_output=True, text=True)
    return {t["tid"]: t for t in json.loads(out.stdout)["threads"]}


def compare(maps, theirs, sound, ours):
    """None, or a difference"""
    mine = [int(f["address"], 16) for f in ours["frames"] if f["kind"] != "kernel" and not f["inlined"]]
    want = [place(maps, pc) for pc in theirs]
    want = [at and at[1] - (i > 0) for i, at in enumerate(want)]  # of a caller: the call, as we say it
    return None if mine == want else {"ours": [hex(a) for a in mine], "theirs": [a and hex(a) for a in want], "end": ours["end"]}


for setting in ("pagination off", "confirm off", "backtrace past-main on", "backtrace past-entry on", "backtrace limit 200",
                "debuginfod enabled off", "print thread-events off"):
    quiet("set " + setting)
fdes, result, differences = Ranges(), {"stops": 0, "sound": 0, "equal": 0, "complete": 0, "only_ours": 0}, []
for _ in range(STOPS * 10):
    if result["stops"] >= STOPS:
        break
    time.sleep(random.uniform(0.02, 0.1))
    quiet(f"attach {PID}")
    maps, ours = mappings(), None
    for thread in gdb.selected_inferior().threads():
        thread.switch()
        pc = gdb.newest_frame().pc()
        at = place(maps, pc)
        if not at or not at[0].startswith("/") or fdes.covers(*at) or bytes(gdb.selected_inferior().read_memory(pc - 2, 2)) == b"\x0f\x05":
            continue
        ours = ours or our_stacks()
        mine = ours.get(thread.ptid[1])
        if not mine:
            continue
        theirs, sound = gdbs_stack(maps)
        result["stops"] += 1
        result["sound"] += sound
        result["complete"] += mine["complete"]
        result["only_ours"] += mine["complete"] and not sound
        difference = compare(maps, theirs, sound, mine) if sound else None
        result["equal"] += sound and not difference
        if difference and len(differences) < 5:
            differences.append(difference)
    quiet("detach")
print("\n" + json.dumps({**result, "differences": differences}))
