"""What `xprof stack` says of a process that gdb has stopped, and what gdb does: frame by frame, by address.

    PID=... STOPS=50 XPROF=... gdb -batch -nx -x e2e/nocfi/gdb.py

Only stops whose innermost frame is in code without FDE count. gdb's stack is sound if every address of it lies in
executable memory and it ends where programs and threads begin. Its inlined and tail-call frames are left out: nothing on
the stack says that they are there.

With FRAMES=1 it is about a large program without symbols that keeps frame pointers, which gdb alone knows nothing of:
stops of running threads and some of waiting ones count, wherever they are. From the first frame without FDE on, the stack
is the chain of frame pointers, to where libc has called. That chain misses the caller of an innermost function that has
no frame yet. Ours has it, and then it is verified: the thread is stepped until it has returned there, or has a frame.

Prints a JSON line: stops, how many of gdb's are sound, equal (of these, after steps), equal as far as ours go, complete
with us, and only with us; and the differences."""
import bisect, functools, json, os, random, struct, subprocess

import gdb

PID, STOPS, XPROF = int(os.environ["PID"]), int(os.environ.get("STOPS", 50)), os.environ["XPROF"]
FRAMES, OPTIONS = "FRAMES" in os.environ, os.environ.get("OPTIONS", "").split()
STEPS = 3000
ENDS = ("_start", "clone", "clone3", "__clone", "__clone3", "start_thread")


def quiet(command):
    return gdb.execute(command, to_string=True)


class File:
    """Where an ELF file's code lies, and which of it has FDEs: the sorted table of .eh_frame_hdr (LSB, section 10.6.2)."""

    def __init__(self, path):
        data = open(path, "rb").read()
        phoff, phentsize, phnum = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
        headers = [struct.unpack_from("<IIQQQQ", data, phoff + i * phentsize) for i in range(phnum)]
        self.entry = struct.unpack_from("<Q", data, 24)[0]
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
    """(path, address in the file) of an address; of generated code: ("", address); None: it is not executable"""
    for start, end, offset, path in maps:
        if start <= pc < end and os.path.isfile(path):
            return path, file(path).address(pc - start + offset)
        if start <= pc < end and path != "[vdso]":
            return "", pc
    return None


def begins(maps, pc, name):
    """whether this is where programs and threads begin"""
    at = place(maps, pc)
    return name in ENDS or bool(at and at[0] and 0 <= at[1] - file(at[0]).entry < 64)


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
    return pcs, all(place(maps, pc) for pc in pcs) and bool(pcs) and begins(maps, pcs[-1], last)


def word(address):
    return struct.unpack("<Q", bytes(gdb.selected_inferior().read_memory(address, 8)))[0]


def has_fde(maps, pc):
    at = place(maps, pc)
    return bool(at and at[0] and at[1] is not None and file(at[0]).covers(at[1]))


def chain(maps, bp):
    """the return addresses by frame pointers, to the first one in a library with unwind information"""
    last = 0
    while bp > last and not bp & 7:
        last, pc = bp, word(bp + 8)
        at = place(maps, pc - 1)
        if not at:
            return
        yield pc
        if has_fde(maps, pc - 1) and os.path.basename(at[0]).startswith(("libc.", "ld-linux")):
            return
        bp = word(bp)


def frames_stack(maps):
    """(addresses, whether they are sound)"""
    pcs, frame = [], gdb.newest_frame()
    try:
        while frame and has_fde(maps, frame.pc() - bool(pcs)):
            if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
                pcs.append(frame.pc())
            frame = frame.older()
        if not frame:
            return pcs, bool(pcs)
        pcs.append(frame.pc())
        pcs += chain(maps, int(frame.read_register("rbp")) % 2**64)
    except gdb.error:
        return pcs, False
    return pcs, len(pcs) > 1 and has_fde(maps, pcs[-1] - 1)


def stack(maps):
    return frames_stack(maps) if FRAMES else gdbs_stack(maps)


def our_stacks():
    out = subprocess.run([XPROF, "stack", *OPTIONS, "--json", str(PID)], capture_output=True, text=True)
    return {t["tid"]: t for t in json.loads(out.stdout)["threads"]}


def addresses(ours):
    """None: frames of a script, in a row, which stand for one frame of the loop that interprets them"""
    out = []
    for f in ours["frames"]:
        if f["kind"] == "kernel" or f["inlined"]:
            continue
        if f["kind"] != "jit" or f["module"] not in ("[python]", "[java]"):
            out.append(int(f["address"], 16))
        elif not out or out[-1] is not None:
            out.append(None)
    return out


def as_ours(maps, theirs):
    """of a caller: the call, as we say it"""
    want = [place(maps, pc) for pc in theirs]
    return [at and at[1] - (i > 0) for i, at in enumerate(want)]


def agree(mine, want):
    """By frame pointers, it ends where libc has called: we go on in there. The vdso has no file: nothing is wanted of it."""
    same = len(mine) >= len(want) and all(w is None or m is None or m == w for m, w in zip(mine, want))
    return same and (FRAMES or len(mine) == len(want))


def verified_by_steps(maps, theirs, ours):
    """whether ours has one frame more, the caller of the innermost one, and the thread goes on as that says"""
    mine, want = addresses(ours), as_ours(maps, theirs)
    if len(mine) < 2 or not agree(mine[:1] + mine[2:], want):
        return False
    sp = int(gdb.newest_frame().read_register("rsp"))
    for _ in range(STEPS):
        try:
            quiet("stepi")
        except gdb.error:
            return False
        now = gdb.newest_frame()
        here = place(maps, now.pc())
        if here and here[1] - 1 == mine[1] and int(now.read_register("rsp")) > sp:
            return True
        pcs, _ = stack(maps)
        if pcs[1:] and agree(mine[1:], as_ours(maps, pcs)[1:]):
            return True
    return False


def compare(maps, theirs, ours):
    """None; or a difference: where ours is cut, and what it has is right, or another one"""
    mine, want = addresses(ours), as_ours(maps, theirs)
    if agree(mine, want):
        return None
    cut = not ours["complete"] and mine == want[: len(mine)]
    return {"cut": cut, "ours": [a and hex(a) for a in mine], "theirs": [a and hex(a) for a in want], "end": ours["end"]}


for setting in ("pagination off", "confirm off", "backtrace past-main on", "backtrace past-entry on", "backtrace limit 200",
                "debuginfod enabled off", "print thread-events off"):
    quiet("set " + setting)
quiet("handle SIGSTOP stop print nopass")
quiet(f"attach {PID}")
result = {"stops": 0, "sound": 0, "equal": 0, "stepped": 0, "cut": 0, "complete": 0, "only_ours": 0}
differences = []


def counts(maps, thread):
    """whether the stop of this thread is one of those that are looked at"""
    pc = gdb.newest_frame().pc()
    waits = bytes(gdb.selected_inferior().read_memory(pc - 2, 2)) == b"\x0f\x05"
    if FRAMES:
        return not waits or random.random() < 0.05
    at = place(maps, pc)
    return bool(at and at[0]) and not file(at[0]).covers(at[1]) and not waits


def look_at(maps, thread, mine):
    theirs, sound = stack(maps)
    result["stops"] += 1
    result["sound"] += sound
    result["complete"] += mine["complete"]
    result["only_ours"] += mine["complete"] and not sound
    difference = compare(maps, theirs, mine) if sound else None
    if difference and verified_by_steps(maps, theirs, mine):
        result["stepped"] += 1
        difference = None
    result["equal"] += sound and not difference
    result["cut"] += bool(difference and difference["cut"])
    if difference and len(differences) < 5:
        differences.append(difference)


for _ in range(STOPS * 10):
    if result["stops"] >= STOPS:
        break
    stopper = subprocess.Popen(["sh", "-c", f"sleep {random.uniform(0.02, 0.1)}; kill -STOP {PID}"])
    quiet("continue")
    stopper.wait()
    maps, ours = mappings(), None
    quiet("set scheduler-locking on")
    for thread in gdb.selected_inferior().threads():
        thread.switch()
        if not counts(maps, thread):
            continue
        ours = ours or our_stacks()
        if thread.ptid[1] in ours:
            look_at(maps, thread, ours[thread.ptid[1]])
    quiet("set scheduler-locking off")
quiet("detach")
print("\n" + json.dumps({**result, "differences": differences}))
