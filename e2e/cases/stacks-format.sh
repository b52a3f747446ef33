#!/bin/bash
# The text format of Stack_Analyzer, read by a parser written from its description: the same stacks and sums as the collapsed
# ones of the same recording, of each thread by its numbers, also in a namespace of PIDs; offsets are within functions.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need python3 readelf unshare

build_target threads -pthread
build_target probes

# Prints what the file says, or what is wrong with it.
cat >"$TMP/read.py" <<'END'
import re, sys
lines = open(sys.argv[1]).read().split("\n")
assert lines.pop() == "" and lines.pop() == "OK", "the end"
assert re.fullmatch(r"time:\d{8}_\d\d_\d\d_\d\d", lines[0]), lines[0]
at = {name: lines.index(name + ":") for name in ("counts", "traces", "info")}
assert at["counts"] == 1 < at["traces"] < at["info"]
head = lines[2].split("\t")
assert head[:3] == ["pid", "usid", "ksid"], head
units = [int(re.fullmatch(r"[^/]+/(\d+)(nanoseconds|bytes|count)", h)[1]) for h in head[3:]]
assert lines[at["traces"] + 1] == "sid\ttrace" and lines[at["info"] + 1] == "pid\tNSpid\tcomm\ttgid\tcgroup"
traces = {}
for line in lines[at["traces"] + 2:at["info"]]:
    sid, trace = line.split("\t")
    assert int(sid) > 0 and sid not in traces and trace.endswith(";")
    traces[sid] = trace[:-1].split(";")
info = {}
for line in lines[at["info"] + 2:]:
    pid, nspid, comm, tgid, cgroup = line.split("\t")
    assert pid not in info
    info[pid] = (int(nspid), comm, int(tgid), int(cgroup))
own, used, seen = {}, set(), set()
for line in lines[3:at["traces"]]:
    pid, usid, ksid, *values = line.split("\t")
    assert pid in info and (pid, usid, ksid) not in seen and len(values) == len(units)
    seen.add((pid, usid, ksid))
    assert all(int(s) < 0 or s in traces for s in (usid, ksid))
    used |= {usid, ksid}
    names = [re.sub(r"\+0x[0-9a-f]+$", "", f) for f in traces.get(usid, [])]
    names += [re.sub(r"\+0x[0-9a-f]+$", "_[k]", f) for f in traces.get(ksid, [])] # marks have no offset
    key = ";".join(names)
    own[key] = own.get(key, 0) + int(values[0]) * units[0]
assert used >= set(traces), "traces that nobody has"
other = {}
for line in open(sys.argv[2]):
    stack, value = line.rsplit(" ", 1)
    key = ";".join(f for f in stack.replace(" ", "").split(";")[1:] if not f.startswith(("[nostack", "[stacknot")))
    other[key] = other.get(key, 0) + int(value)
assert own == other, sorted(set(own.items()) ^ set(other.items()))[:6]
for pid, (nspid, comm, tgid, cgroup) in sorted(info.items()):
    print("thread", pid, nspid, comm, tgid, cgroup, sum(int(l.split("\t")[3]) for l in lines[3:at["traces"]] if l.startswith(pid + "\t")))
for trace in traces.values():
    for f in trace:
        print("frame", f.replace("+0x", " 0x"))
print(len(own), "stacks,", sum(own.values()), "in all, as in the collapsed file;", len(traces), "traces,", len(info), "threads")
END
both() { # OPTION... -- COMMAND...: a recording in both formats, read; what it says is in $TMP/said
    "$XPROF" record --no-cache -o "$TMP/x.stacks" -o "$TMP/x.collapsed" "$@" 2>"$errors" || fail "a recording"
    python3 "$TMP/read.py" "$TMP/x.stacks" "$TMP/x.collapsed" >"$TMP/said" || fail "the file is not as described"
    tail -n 1 "$TMP/said"
}

both -e cpu -F 199 -- "$TMP/threads"
[ "$(grep -c '^thread .* worker[0-7] ' "$TMP/said")" = 8 ] || fail "not each thread has numbers of its own"
awk '$1 == "thread" && $4 ~ /^worker/ && ($2 != $3 || $2 == $5) { exit 1 }' "$TMP/said" || fail "the numbers are not the threads'"
grep -qE $'^pid\tusid\tksid\tcpu/5025125nanoseconds$' <(head -n 3 "$TMP/x.stacks") || fail "the head does not say the period"
size=$(readelf -sW "$TMP/threads" | awk '$8 == "burn" && !n++ { print $3 }')
python3 - "$TMP/said" "$size" <<'END' || fail "offsets are not within burn"
import sys
at = [int(l.split()[2], 16) for l in open(sys.argv[1]) if l.startswith("frame burn 0x")]
sys.exit(not at or max(at) > int(sys.argv[2]))
END

# In a namespace of PIDs they have other numbers.
both -e cpu -F 199 -- unshare -p -f "$TMP/threads"
[ "$(awk '$1 == "thread" && $4 ~ /^worker/ && $3 >= 2 && $3 <= 9 { print $3 }' "$TMP/said" | sort -u | wc -l)" = 8 ] ||
    fail "NSpid is not the number in the namespace: $(grep '^thread' "$TMP/said")"

# Waits and counts; kernel stacks are apart from those of the user.
both -e offcpu -- sh -c 'sleep 0.2; sleep 0.3'
both -e syscall:openat -- "$TMP/probes"
grep -q '^frame open_there 0x' "$TMP/said" || fail "the callers are missing"
awk -F'\t' 'NR > 3 && NF > 3 && $2 > 0 && $3 > 0 && $4 == 300 { found = 1 } END { exit !found }' "$TMP/x.stacks" ||
    fail "the calls are not counted with both of their stacks"

# Of a file: the name of the column ends at its slash.
both -e "uprobe:$TMP/probes:weigh" --value arg2:bytes -- "$TMP/probes"
grep -qE $'^pid\tusid\tksid\targ2/1bytes$' <(head -n 3 "$TMP/x.stacks") || fail "the head: $(head -n 3 "$TMP/x.stacks")"

# Later: the same threads, and callers at the same places.
frames_of() { # FUNCTION...: where they are, as the file says
    grep -E "^frame ($1) 0x" "$TMP/said" | sort -u
}
for raw in --named --raw; do
    output=(-o "$TMP/x.stacks" -o "$TMP/x.collapsed")
    [ $raw = --raw ] && output=(--raw -o "$TMP/raw.pb.gz")
    "$XPROF" record -e "uprobe:$TMP/threads:burn" --no-cap "${output[@]}" -- "$TMP/threads" 2>"$errors" || fail "a recording"
    [ $raw != --raw ] || "$XPROF" symbolize -o "$TMP/x.stacks" -o "$TMP/x.collapsed" "$TMP/raw.pb.gz" 2>"$errors" ||
        fail "xprof symbolize"
    python3 "$TMP/read.py" "$TMP/x.stacks" "$TMP/x.collapsed" >"$TMP/said" || fail "the file of $raw is not as described"
    [ "$(grep -c '^thread .* worker[0-7] ' "$TMP/said")" = 8 ] || fail "$raw: threads: $(grep '^thread' "$TMP/said")"
    awk '$1 == "thread" && $4 ~ /^worker/ && $2 == $5 { exit 1 }' "$TMP/said" || fail "$raw: the numbers are not the threads'"
    frames_of 'burn|work|start_thread|clone3' >"$TMP/frames$raw"
done
[ "$(wc -l <"$TMP/frames--raw")" -ge 3 ] || fail "frames: $(cat "$TMP/frames--raw")"
diff "$TMP/frames--named" "$TMP/frames--raw" || fail "places in functions differ when they are named later"
