#!/bin/bash
# The timeline: what threads do is what the kernel's own sums say, without gaps; causes, arrows and run queues are right; of
# a program that is launched, of one that runs already, of a cgroup, of the machine. The Firefox Profiler loads its files.
set -euo pipefail
. e2e/lib.sh
need_root
command -v python3 >/dev/null || skip "python3 is not installed"

build_target timeline -pthread
target=$TMP/timeline
trace=$TMP/t.json gecko=$TMP/t.gecko.json.gz

check() { # [part]
    python3 e2e/timeline/check.py "$trace" "$TMP/truth" "$@" >"$TMP/said" || { cat "$TMP/said" && fail "the timeline"; }
}

# Launched.
"$XPROF" record -e timeline -o "$trace" -o "$gecko" --summary "$TMP/summary.json" -- "$target" 3 >"$TMP/truth"
check
cp "$trace" "$TMP/launched.json"
echo "launched: $(grep -c ^ok "$TMP/said") figures are right"
python3 - "$TMP/summary.json" <<'END'
import json, sys
t = json.load(open(sys.argv[1]))["timeline"]
assert t["switches"] > 10000 and t["wakeups"] > 10000 and not t["lost"] and not t["dropped"], t
print("summary:", t)
END

# Attached, with samples of another event; no slice is of a thread that nobody asked for.
"$target" 4 >"$TMP/truth" &
pid=$!
"$XPROF" record -e cpu,timeline -p $pid -d 2s -o "$trace" -o "$TMP/x.gecko.json" -o "$TMP/x.collapsed" 2>/dev/null
wait $pid
check part "$TMP/x.collapsed"
grep -q "samples are where threads run" "$TMP/said" || fail "no samples on the timeline"
python3 - "$trace" "$TMP/x.gecko.json" <<'END'
import json, sys
trace, gecko = (json.load(open(f)) for f in sys.argv[1:])
n = sum(t["samples"]["length"] for t in gecko["threads"])
assert n == len(trace["samples"]), (n, len(trace["samples"]))
END
others=$(python3 -c 'import json, sys
print(len({e["pid"] for e in json.load(open(sys.argv[1]))["traceEvents"] if e["ph"] == "X" and e["cat"] != "cpu,running"}))' "$trace")
[ "$others" = 1 ] || fail "slices of $others processes, not of one"
echo "attached: $(grep -c ^ok "$TMP/said") figures are right"

# The machine: every thread has a track, those that sleep all the time, too; all of it in little memory.
"$XPROF" record -e timeline -a -d 2s --timeline-memory 1M -o "$trace" --summary "$TMP/summary.json" 2>/dev/null &
recorder=$!
ONLY_PING=1 "$target" 3 >/dev/null
wait $recorder
python3 - "$trace" "$TMP/summary.json" <<'END'
import json, os, sys
trace, t = json.load(open(sys.argv[1])), json.load(open(sys.argv[2]))["timeline"]
assert t["dropped"] > 1000 and t["bytes"] <= 1 << 20 and 0 < t["seconds"] < 2, t
pids = {e["pid"] for e in trace["traceEvents"] if e["ph"] == "X"}
missing = [p for p in map(int, filter(str.isdigit, os.listdir("/proc"))) if p < os.getpid() - 500 and p not in pids]
assert len(missing) < 3, missing
print("the machine:", len(pids), "processes;", t)
END

# The Firefox Profiler's own importer: of both, with the same times in it.
firefox=$(e2e/html/firefox.sh) || [ $? = 77 ]
if [ -n "$firefox" ]; then
    FIREFOX=$firefox python3 e2e/timeline/firefox.py "$TMP/launched.json" "$gecko"
else
    echo "no npm: the Firefox Profiler is left out"
fi

# What makes no sense.
said() { # WORDS OPTION...
    local words=$1
    shift
    "$XPROF" record "$@" -- true 2>"$TMP/err" && fail "$*: it was taken"
    grep -qF -- "$words" "$TMP/err" || { cat "$TMP/err" && fail "$*"; }
    [ "$(wc -l <"$TMP/err")" = 1 ] || { cat "$TMP/err" && fail "$*: more than a line"; }
}
said "-o FILE.json (Perfetto)" -e timeline
said "a timeline has no profile" -e timeline -o "$trace" -o "$TMP/x.html"
said "give -e timeline, too" -e cpu -o "$trace"

# A thread that executes a program has its process's number then; the one that it had ends there.
cat >"$TMP/executes.c" <<'END'
#include <pthread.h>
#include <unistd.h>
static void *execute(void *unused)
{
    execl("/bin/sleep", "sleep", "0.3", (char *)0);
    return unused;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, execute, 0);
    for (;;)
        pause();
}
END
gcc -pthread "$TMP/executes.c" -o "$TMP/executes"
"$XPROF" record -e timeline -o "$trace" -- "$TMP/executes" 2>"$errors" || fail "a thread that executes a program"
python3 - "$trace" <<'END' || fail "the number that it had goes on"
import json, sys
slices = [e for e in json.load(open(sys.argv[1]))["traceEvents"] if e["ph"] == "X" and e["pid"] != 0]
ends = {}
for e in slices:
    if e["cat"] in ("running", "runnable", "blocked"):
        ends[e["pid"], e["tid"]] = max(ends.get((e["pid"], e["tid"]), 0), e["ts"] + e["dur"])
before = [end for (pid, tid), end in ends.items() if pid != tid]
after = [end for (pid, tid), end in ends.items() if pid == tid]
assert len(before) == 1 and before[0] < max(after) - 250000, ends
END
echo "a thread that executes a program goes on by another number"
