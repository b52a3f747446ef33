#!/bin/bash
# Waits for locks of the kernel take as long as the kernel's own trace (ftrace) of the same tracepoints says, by name.
set -euo pipefail
. e2e/lib.sh
need_root
need bpftool go jq

grep -qw tracefs /proc/filesystems || skip "this kernel has no tracefs"
tracefs=$TMP/tracefs
mkdir "$tracefs"
mount -t tracefs none "$tracefs" || skip "tracefs cannot be mounted"
at_exit "umount -l $tracefs"
trace=$tracefs/instances/xprof-e2e-$$
mkdir "$trace"
at_exit "rmdir $trace"
[ -d "$trace/events/lock/contention_begin" ] || skip "this kernel does not trace its locks (Linux 5.19 and later do)"
echo mono >"$trace/trace_clock"
echo 65536 >"$trace/buffer_size_kb" # per CPU
echo 'COMM == "kernel_locks"' >"$trace/events/lock/filter"

folder=$(mktemp -d /dev/shm/kernel-locks.XXXXXX) # a file system that waits for no disk
at_exit "rm -rf $folder"
mkfifo "$TMP/gate"
build_target kernel_locks -pthread

# "CONTENTIONS NS" of a trace, without locks that threads spin for. A mutex begins twice: before it spins, and then.
sum_of_trace() {
    awk '
        { split($0, part, /: contention_/); match(part[1], /[0-9]+\.[0-9]+$/); at = substr(part[1], RSTART)
          match($1, /-[0-9]+$/); tid = substr($1, RSTART + 1) }
        $0 !~ /^ *#/ && match($0, /contention_begin: [^ ]+/) {
            lock = substr($0, RSTART + 18, RLENGTH - 18)
            if (/flags=[^)]*SPIN/ && !/MUTEX/) next
            if (!(tid in held)) { held[tid] = lock; since[tid] = at }
        }
        match($0, /contention_end: [^ ]+/) {
            lock = substr($0, RSTART + 16, RLENGTH - 16)
            if ((tid in held) && held[tid] == lock) { n++; ns += (at - since[tid]) * 1e9; delete held[tid] }
        }
        END { printf "%d %.0f\n", n, ns }' "$trace/trace"
}

compare() { # WHAT NAME: a regular expression for the frame that has nearly all of it
    local program waits ns named counted
    echo >"$trace/trace"
    "$TMP/kernel_locks" "$1" "$folder" 1500 <"$TMP/gate" &
    program=$!
    exec 3>"$TMP/gate"
    at_exit "kill -KILL $program"
    record -e lock -o "$TMP/x.pb.gz" -p $program &
    recorder=$!
    at_exit "kill \$(pgrep -P $recorder) 2>/dev/null"
    await follows_waits
    has_program xp_on_contended || fail "nobody sees locks of the kernel"
    echo 1 >"$trace/events/lock/enable"
    echo >&3
    exec 3>&-
    wait "$recorder" || fail "the recording ended with $?"
    echo 0 >"$trace/events/lock/enable"
    read -r waits ns < <(sum_of_trace)
    counted=$(awk '/\[lock: [^]]*\] [0-9]+$/ { n += $NF } END { print n + 0 }' "$profile")
    named=$(awk -v name="$2" '/\[lock: [^]]*\] [0-9]+$/ && $0 ~ name { n += $NF } END { print n + 0 }' "$profile")
    echo "$1: the kernel says $waits contentions, $ns ns, the profile $counted ns, of it $named as $2"
    [ "$waits" -ge 100 ] || fail "$1: there were $waits contentions only"
    # At each end of a wait, one of the two comes first, and the other one counts its time: that of unwinding, for one.
    is "$counted" '>=' "0.98 * $ns - 5000 * $waits" || fail "$1: threads waited for $ns ns, not for $counted"
    is "$counted" '<=' "1.02 * $ns + 5000 * $waits" || fail "$1: threads waited for $ns ns, not for $counted"
    expect .samples '>=' "$((waits - waits / 100))"
    expect .samples '<=' "$((waits + waits / 100 + 20))" # with those that are no locks of the kernel
    is "$named" '>=' "0.9 * $counted" || fail "$1: locks have other names than $2"
    expect .lost.wait == 0
}

compare mmap ';do_mmap;.*;\[lock: mmap_lock\]'
compare write ';do_write;.*;\[lock: rwsem in [a-z0-9_]*write[a-z0-9_]*\]'
compare rename ';do_rename;.*;\[lock: mutex in [a-z0-9_]*renam[a-z0-9_]*\]'

# Who does not ask for locks does not pay for them.
"$TMP/kernel_locks" mmap "$folder" 100 <"$TMP/gate" &
exec 3>"$TMP/gate"
record -e offcpu,runqueue -p $! &
recorder=$!
await follows_waits
if has_program xp_on_contention; then fail "locks of the kernel are seen, and nobody wants that"; fi
echo >&3
exec 3>&-
wait "$recorder"

# An agent has them, too.
. e2e/agent/lib.sh
cp "$TMP/kernel_locks" "$TMP/in-agent"
INTERVAL=2s start_agent --events lock
"$TMP/in-agent" mmap "$folder" 100000 </dev/null & # it takes a while until somebody follows it
at_exit "kill $!"
has_profile() {
    compgen -G "$out/host/in-agent/*.pb.gz" >/dev/null
}
await has_profile
end_agent
for f in "$out/host/in-agent"/*.pb.gz; do go tool pprof -traces -symbolize=none "$f"; done >"$TMP/traces" 2>/dev/null
grep -q '\[lock: mmap_lock\]' "$TMP/traces" || fail "an agent does not see locks of the kernel"
