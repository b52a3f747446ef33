"""What `xprof stack` says of a process that gdb has stopped, and what gdb does: frame by frame, by address.

    PID=... STOPS=50 XPROF=... gdb -batch -nx -x e2e/nocfi/gdb.py

Only stops whose innermost frame is in code without FDE count; gdb's stack is sound if every address of it lies in executable
memory and it ends where programs and threads begin. Its inlined and tail-call frames are left out: nothing on the stack
says that they are there. Prints a JSON line: stops, how many of gdb's are sound, equal, equal as far as ours
go, complete with us, and only with us; and the differences."""
import bisect, functools, json, os, random, struct, subprocess

import gdb

PID, STOPS, XPROF = int(os.environ["PID"]), int(os.environ.get("STOPS", 50)), os.environ["XPROF"]
ENDS = ("_start", "clone", "clone3", "__clone", "__clone3", "start_thread")


def quiet(command):
    return gdb.execute(command, to_string=True)


class File:
    """Where an ELF file's code lies, and which of it has FDEs: the sorted table of .eh_frame_hdr (LSB, section 10.6.2)."""

    def __init__(self, path):
        data = open(path, "rb").read()
        phoff, phentsize, phnum = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
        headers = [struct.unpack_from("<IIQQQQ", data, phoff + i * phentsize) for i in range(phnum)]
        self.loads = [(vaddr, offset, size) for kind, _, offset, vaddr, _, size in headers if kind == 1]
        self.fdes = sorted(self.read(data, next((h[3] for h in headers if h[0] == 0x6474E550), None)))

    def read(self, data, hdr):
        at = hdr and self.offset(hdr)
        if not at or data[at : at + 4] != b"\x01\x1b\x03\x3b":  # the encodings that every linker chooses
            return
        for i in range(struct.unpack_from("<I", data, at + 8)[0]):
            pc, fde = struct.unpack_from("<ii", data, at + 12 + 8 * i)
            place = self.offset(hdr + fde)
            if place is not None:
                yield hdr + pc, hdr + pc + struct.unpack_from("<I", data, place + 12)[0]

    def offset(self, address):
        return next((address - vaddr + offset for vaddr, offset, size in self.loads if 0 <= address - vaddr < size), None)

    def address(self, at):
        return next((at - offset + vaddr for vaddr, offset, size in self.loads if 0 <= at - offset < size), None)

    def covers(self, address):
        at = bisect.bisect_right(self.fdes, (address, 1 << 64)) - 1
        return at >= 0 and address < self.fdes[at][1]


@functools.lru_cache(None)
def file(path):
    return File(path)


def mappings():
    out = []
    for line in open(f"/proc/{PID}/maps"):
        f = line.split(None, 5)
        start, end = (int(x, 16) for x in f[0].split("-"))
        if "x" in f[1]:
            out.append((start, end, int(f[2], 16), f[5].strip() if len(f) > 5 else ""))
    return out


def place(maps, pc):
    """(path, address in the file) of an address; None: it is not executable code of a file"""
    for start, end, offset, path in maps:
        if start <= pc < end and os.path.isfile(path):
            return path, file(path).address(pc - start + offset)
    return None


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


def compare(maps, theirs, ours):
    """None; or a difference: where ours is cut, and what it has is right, or another one"""
    mine = [int(f["address"], 16) for f in ours["frames"] if f["kind"] != "kernel" and not f["inlined"]]
    want = [place(maps, pc) for pc in theirs]
    want = [at and at[1] - (i > 0) for i, at in enumerate(want)]  # of a caller: the call, as we say it
    if mine == want:
        return None
    cut = not ours["complete"] and mine == want[: len(mine)]
    return {"cut": cut, "ours": [hex(a) for a in mine], "theirs": [a and hex(a) for a in want], "end": ours["end"]}


for setting in ("pagination off", "confirm off", "backtrace past-main on", "backtrace past-entry on", "backtrace limit 200",
                "debuginfod enabled off", "print thread-events off"):
    quiet("set " + setting)
quiet("handle SIGSTOP stop print nopass")
quiet(f"attach {PID}")
result, differences = {"stops": 0, "sound": 0, "equal": 0, "cut": 0, "complete": 0, "only_ours": 0}, []
for _ in range(STOPS * 10):
    if result["stops"] >= STOPS:
        break
    stopper = subprocess.Popen(["sh", "-c", f"sleep {random.uniform(0.02, 0.1)}; kill -STOP {PID}"])
    quiet("continue")
    stopper.wait()
    maps, ours = mappings(), None
    for thread in gdb.selected_inferior().threads():
        thread.switch()
        pc = gdb.newest_frame().pc()
        at = place(maps, pc)
        if not at or file(at[0]).covers(at[1]) or bytes(gdb.selected_inferior().read_memory(pc - 2, 2)) == b"\x0f\x05":
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
        difference = compare(maps, theirs, mine) if sound else None
        result["equal"] += sound and not difference
        result["cut"] += bool(difference and difference["cut"])
        if difference and len(differences) < 5:
            differences.append(difference)
quiet("detach")
print("\n" + json.dumps({**result, "differences": differences}))
