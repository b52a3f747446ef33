#!/bin/bash
# Time off CPUs of processes that already sleep: by process, cgroup and machine; SIGINT ends a recording well, and of one
# that is killed nothing stays in the kernel.
set -euo pipefail
. e2e/lib.sh
need_root
need bpftool jq

declare -A pid_of
for name in one two three; do
    cp "$(command -v sleep)" "$TMP/$name"
    "$TMP/$name" 60 &
    pid_of[$name]=$!
    at_exit "kill $!"
done

start() { # OPTION...
    record -e offcpu "$@" &
    recorder=$!
    at_exit "kill \$(pgrep -P $recorder)"
    await follows_waits
}

# MS at least and as many again: only what was wanted is there. The value is in ns.
expect_asleep() { # MS NAME...
    local ms=$1 name ns
    shift
    for name; do
        ns=$(awk -v name="$name" 'index($0, name ";") == 1 && /\[sleep\] [0-9]+$/ { n += $NF } END { print n + 0 }' "$profile")
        is "$ns" '>=' "$ms * 1000000" || fail "$name slept for $ns ns, not for $ms ms"
        is "$ns" '<' "1.3 * $ms * 1000000 + 300000000" || fail "$name slept for $ns ns, not for $ms ms"
    done
}

start -p "${pid_of[one]}" -o "$TMP/x.pb.gz" -o "$TMP/x.html"
sleep 1
kill -INT "$xprof"
wait "$recorder" || fail "SIGINT ended the recording with $?"
expect .duration_seconds '>=' 1
expect_asleep "$(value '.duration_seconds * 980 | floor')" one
expect_no_stack '(two|three);.*'
for f in x.pb.gz x.html s.json; do
    [ -s "$TMP/$f" ] || fail "there is no $f"
done
gzip -t "$TMP/x.pb.gz"
expect .lost.wait == 0

record -e offcpu -d 500ms -p "${pid_of[one]},${pid_of[two]}"
expect_asleep 500 one two
expect_no_stack 'three;.*'
record -e offcpu -d 500ms -a
expect_asleep 500 one two three

for root in /sys/fs/cgroup /sys/fs/cgroup/unified; do
    [ -e "$root/cgroup.procs" ] || continue
    group=$root/xprof-e2e-$$
    mkdir "$group"
    at_exit "rmdir $group"
    at_exit "echo ${pid_of[three]} >$root/cgroup.procs"
    echo "${pid_of[three]}" >"$group/cgroup.procs"
    record -e offcpu -d 500ms --cgroup "$group"
    expect_asleep 500 three
    expect_no_stack '(one|two);.*'
done

start -a
mapfile -t programs < <(programs_of "$xprof")
names=$(for id in "${programs[@]}"; do name_of_program "$id"; done)
for name in xp_on_switch xp_tell_waits; do
    grep -qx "$name" <<<"$names" || fail "$name is not loaded"
done
mapfile -t helpers < <(pgrep -P "$xprof")
[ ${#helpers[@]} -gt 0 ] || fail "it has no helper processes"
kill -KILL "$xprof"
wait "$recorder" && fail "a recording that is killed ends well"
for ((i = 0; i < 50; i++)); do
    left=$(for id in "${programs[@]}"; do bpftool prog show id "$id" 2>/dev/null || true; done)
    for helper in "${helpers[@]}"; do
        [ ! -e "/proc/$helper" ] || left+=" process $helper"
    done
    [ -n "$left" ] || break
    sleep 0.1
done
[ -z "$left" ] || fail "this is left: $left"

# A thread that replaces the program goes on under its leader's number: nothing is kept under its own.
build_target thread_exec -pthread
mkfifo "$TMP/gate"
record -e offcpu -- "$TMP/thread_exec" 100 <"$TMP/gate" &
recorder=$!
exec 3>"$TMP/gate"
at_exit "kill \$(pgrep -P $recorder)"
await follows_waits
came_to_its_end() {
    grep -qz '^0$' "/proc/$(pgrep -P "$xprof" -x 'exe|thread_exec')/cmdline"
}
await came_to_its_end
map=$(sed -n 's/^map_id:[[:space:]]*//p' "/proc/$xprof/fdinfo/"* 2>/dev/null | sort -u | while read -r id; do
    [ "$(bpftool -j map show id "$id" | jq -r .name)" != threads ] || echo "$id"
done)
kept=$(bpftool -j map dump id "$map" | jq length)
[ "$kept" -le 10 ] || fail "$kept threads are followed, of a program with one"
echo >&3
exec 3>&-
wait "$recorder"
