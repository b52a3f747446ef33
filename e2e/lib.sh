# shellcheck shell=bash
# What end-to-end cases share; README.md is the manual. To be sourced from the top folder, with XPROF and TMP set.

: "${XPROF:?the binary}" "${TMP:?a folder of the case}"
export CCACHE_DISABLE=1 # what it keeps may name another folder than the one that it is compiled in
profile=$TMP/x.collapsed # what record() writes
summary=$TMP/s.json
errors=$TMP/err
undo=() # commands that run when the case ends, the last one first

at_exit() { # COMMAND: to be undone whatever happens
    undo+=("$1")
}

run_undo() {
    while [ ${#undo[@]} -gt 0 ]; do
        eval "${undo[-1]}" 2>/dev/null || true
        unset 'undo[-1]'
    done
}
trap run_undo EXIT

# Why, and what there is to look at.
fail() {
    set +eo pipefail
    echo "$1" >&2
    if [ -s "$errors" ]; then sed 's/^/  stderr: /' "$errors" | head -n 20 >&2; fi
    if [ -s "$summary" ]; then sed 's/^/  summary: /' "$summary" >&2; fi
    if [ -s "$profile" ]; then
        awk '{ n = $NF; $NF = ""; print n, substr($0, 1, 250) }' "$profile" | sort -rn | sed 's/^/  stack: /' |
            head -n 6 >&2 || true
    fi
    exit 1
}

skip() {
    echo "$1"
    exit 77
}

need() { # PROGRAM...
    local program
    for program; do
        command -v "$program" >/dev/null || skip "there is no $program"
    done
}

need_root() {
    [ "$(id -u)" = 0 ] || skip "needs root"
}

need_kernel() { # VERSION FOR_WHAT
    local kernel
    kernel=$(uname -r)
    printf '%s\n%s\n' "$1" "${kernel%%-*}" | sort -VC || skip "$2: of Linux $1"
}

# Eight ports in a row that nobody listens at, and no call returned before: $port is the first. They are below those that
# the kernel gives to outgoing connections (net.ipv4.ip_local_port_range), which would be free now and taken later.
free_ports() {
    local i
    for ((i = 0; i < 100; i++)); do
        port=$((16000 + RANDOM % 2000 * 8))
        [[ " $given_ports " != *" $port "* ]] || continue
        ss -Htln "sport >= :$port and sport <= :$((port + 7))" | grep -q . && continue
        given_ports+=" $port"
        return 0
    done
    fail "there are no free ports"
}
given_ports=

# Builds e2e/targets/NAME.* into $TMP. OUT names the result otherwise, CC is the compiler.
build_target() { # NAME [FLAG...]
    local name=$1 source out
    shift
    source=$(compgen -G "e2e/targets/$name.*") || fail "there is no target $name"
    out=$TMP/${OUT:-$name}
    case $source in
    *.cpp) "${CC:-g++}" -O2 "$source" -o "$out" "$@" ;;
    *) "${CC:-gcc}" -O2 "$source" -o "$out" "$@" ;;
    esac
}

# Waits until COMMAND succeeds, ten seconds at most.
await() { # COMMAND...
    local i
    for ((i = 0; i < 200; i++)); do
        if "$@" >/dev/null 2>&1; then return 0; fi
        sleep 0.05
    done
    fail "this did not come true: $*"
}

# What a sample adds to a line of collapsed stacks: the period of a clock at HZ; of other events, the value itself counts.
value_of_sample() { # OPTION...
    local option before='' event=cpu
    for option; do
        [ "$option" != -- ] || break
        [ "$before" != -e ] || event=${option%%,*}
        before=$option
    done
    if [ "$event" = cpu ]; then echo $((1000000000 / ${HZ:-997})); else echo 1; fi
}

# Its exit status is xprof's. HZ is the rate; tables are made anew unless CACHE names a folder.
record() { # OPTION... [-- COMMAND...]
    local cache=(--no-cache)
    if [ -n "${CACHE:-}" ]; then cache=(--cache-dir "$CACHE"); fi
    rm -f "$profile" "$summary"
    value_of_sample "$@" >"$TMP/x.sample"
    "$XPROF" record "${cache[@]}" -F "${HZ:-997}" -o "$profile" --summary "$summary" "$@" 2>"$errors"
}

# Starts record() in the background and waits until it samples: the shell's PID is $recorder, xprof's is $xprof.
record_in_background() { # OPTION...
    record "$@" &
    recorder=$!
    at_exit "kill \$(pgrep -P $recorder) 2>/dev/null"
    await has_perf_events
}

has_perf_events() {
    xprof=$(pgrep -P "$recorder" -x xprof) && find "/proc/$xprof/fd" -lname '*perf_event*' | grep -q .
}

# Numbers of the eBPF programs that a process holds.
programs_of() { # PID
    sed -n 's/^prog_id:[[:space:]]*//p' "/proc/$1/fdinfo/"* 2>/dev/null | sort -u
}

name_of_program() { # NUMBER
    bpftool -j prog show id "$1" | jq -r .name
}

descendants() { # PID
    local child
    for child in $(pgrep -P "$1"); do
        echo "$child"
        descendants "$child"
    done
}

holds_program() { # NAME PID
    local id
    for id in $(programs_of "$2"); do
        [ "$(name_of_program "$id")" != "$1" ] || return 0
    done
    return 1
}

# Whether the recording in the background has an eBPF program of this name; sets $xprof.
has_program() { # NAME
    xprof=$(pgrep -P "$recorder" -x xprof) || return
    holds_program "$1" "$xprof"
}

follows_waits() {
    has_program xp_tell_waits # attached last
}

# Lets a process run for 20 ms, so that what it begins with is mapped: in steps, or it might come to its end.
stop_soon() { # PID
    local stat fields
    while kill -STOP "$1" 2>/dev/null; do
        stat=$(<"/proc/$1/stat")
        read -ra fields <<<"${stat##*) }"
        [ "${fields[11]}" -lt 2 ] || return 0 # of user time, in 10 ms
        kill -CONT "$1"
        sleep 0.01
    done
    fail "it ended before it was recorded"
}

# record() of a COMMAND that already runs. It stands still until xprof samples, which therefore knows all its files
# before the first sample.
record_running() { # OPTION... -- COMMAND...
    local options=() running
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    "$@" &
    running=$!
    at_exit "kill -KILL $running"
    stop_soon $running
    record_in_background "${options[@]}" -p $running
    kill -CONT $running
    wait "$recorder"
}

# record() of a COMMAND that is attached to while it waits for a line: it has said "ready". It gets one when its waits are
# followed, and SECONDS later.
record_waiting() { # EVENT SECONDS COMMAND...
    record_at_gate follows_waits "$2" -e "$1" -- "${@:3}"
}

# The same, when FOLLOWED comes true. Of the whole machine, if the options say so: then they say how long, too.
record_at_gate() { # FOLLOWED SECONDS OPTION... -- COMMAND...
    local followed=$1 seconds=$2 options=() pid
    shift 2
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    [ -p "$TMP/gate" ] || mkfifo "$TMP/gate"
    rm -f "$TMP/out"
    "$@" <"$TMP/gate" >"$TMP/out" 2>&1 &
    pid=$!
    exec 3>"$TMP/gate"
    at_exit "kill -KILL $pid"
    await grep -q ready "$TMP/out"
    [[ " ${options[*]} " == *" -a "* ]] || options+=(-p "$pid")
    record "${options[@]}" &
    recorder=$!
    at_exit "kill \$(pgrep -P $recorder) 2>/dev/null"
    await "$followed"
    sleep "$seconds"
    echo >&3
    exec 3>&-
    wait "$recorder" || fail "the recording ended with $?"
}

expect_seconds() { # WHAT REGEX LEAST MOST: of waits in such stacks of the last recording, their root first
    local ns
    ns=$(awk -v regex="$2" '$0 ~ ";" regex "[; ]" { n += $NF } END { printf "%.0f", n }' "$profile")
    echo "$1: $2: $((ns / 1000000)) ms"
    is "$ns" '>=' "$3 * 1e9" || fail "$2: $ns ns, not $3 s"
    is "$ns" '<=' "$4 * 1e9" || fail "$2: $ns ns, more than $4 s"
}

# CHECK must hold of a COMMAND that xprof starts, and of one that already runs: their files come different ways.
record_both() { # CHECK OPTION... -- COMMAND...
    local check=$1
    shift
    record "$@"
    "$check"
    record_running "$@"
    "$check"
}

value() { # JQ_PATH: of the summary
    jq -r "$1 // 0" "$summary"
}

is() { # LEFT OPERATOR RIGHT: arithmetic with fractions
    awk "BEGIN { exit !(($1) $2 ($3)) }"
}

expect() { # JQ_PATH OPERATOR NUMBER
    is "$(value "$1")" "$2" "$3" || fail "$1 is $(value "$1"), not $2 $3"
}

# So many samples were taken, and none lost.
expect_samples() { # AT_LEAST
    expect .samples '>=' "$1"
    expect '.lost["ring-full"] + .lost.scratch + .lost["stack-memory"] + .lost.malformed' == 0
}

expect_complete() { # PERCENT
    local share
    share=$(jq -r 'if .user_samples == 0 then 0 else 100 * .complete / .user_samples end' "$summary")
    is "$share" '>=' "$1" || fail "only $share % of the user stacks are complete, not $1 %"
    printf '%.2f %% of %d stacks are complete\n' "$share" "$(value .user_samples)"
}

# Samples of the last record() whose line process;root;...;leaf matches; the value behind it is no part of the match.
samples_of() { # REGEX [FILE]
    local value
    value=$(cat "$TMP/x.sample" 2>/dev/null || value_of_sample)
    sed -E 's/^(.*) ([0-9]+)$/\2 \1/' "${2:-$profile}" | { grep -E "^[0-9]+ (.*;)?($1)(;|\$)" || true; } |
        awk -v value="$value" '{ n += $1 } END { printf "%.0f\n", n / value }'
}

# REGEX matches whole frames, root first: 'main;outer;(.*;)?inner'.
expect_stack() { # REGEX [FILE [AT_LEAST]]
    local n
    n=$(samples_of "$1" "${2:-$profile}")
    [ "$n" -ge "${3:-1}" ] || fail "$n samples, not ${3:-1}, have the stack $1"
}

expect_no_stack() { # REGEX [FILE]
    local n
    n=$(samples_of "$1" "${2:-$profile}")
    [ "$n" = 0 ] || fail "$n samples have the stack $1"
}

# Of the samples that match OF (all of them without it), so many also match REGEX.
expect_share() { # PERCENT REGEX [OF]
    local of=${3:-.*} all part
    all=$(samples_of "$of")
    part=$({ grep -E "^(.*;)?($of)[; ]" "$profile" || true; } >"$TMP/part" && samples_of "$2" "$TMP/part")
    [ "$all" -gt 0 ] || fail "no samples of $of"
    is "$((100 * part))" '>=' "$1 * $all" || fail "only $part of $all samples of '$of' have the stack $2"
}

# The sum of a metric's series on stdin. One that is not there is a failure: 0 would hide a name that has changed.
sum_of_metric() { # NAME [LABELS_REGEX]
    awk -v n="$1" -v l="${2:-}" '$1 ~ "^" n "($|{)" && $1 ~ l { s += $NF; found = 1 }
        END { if (!found) exit 1; print s + 0 }' || fail "there is no metric $1${2:+ with the labels $2}"
}

# xprof ends with STATUS and, if LINE is given, with one line on stderr that matches it.
expect_exit() { # STATUS LINE COMMAND...
    local status=$1 line=$2 rc=0
    shift 2
    "$@" >"$TMP/out" 2>"$errors" || rc=$?
    [ "$rc" = "$status" ] || fail "exit $rc, not $status: $*"
    [ -z "$line" ] || [ "$(wc -l <"$errors")" = 1 ] || fail "more or less than one line on stderr: $*"
    [ -z "$line" ] || grep -qE -- "$line" "$errors" || fail "stderr does not match '$line': $*"
}

# The waits in a pprof file: lines PID COUNT BLOCKED_NS RUN_QUEUE_NS CAUSE, one per sample.
waits_of() { # FILE
    go tool pprof -raw -symbolize=none "$1" 2>/dev/null | awk '
        /^Samples:/ { on = 1; next }
        /^Locations/ { on = 0 }
        !on { next }
        /^samples\// {
            for (i = 1; i <= NF; i++)
                if ($i ~ /^off_cpu/) off = i
                else if ($i ~ /^run_queue/) queue = i
        }
        /^ *[0-9]+ +[0-9]+.*:/ && !/:\[/ {
            sub(/:.*/, "")
            count = $1
            blocked = off ? $off : 0
            queued = queue ? $queue : 0
        }
        match($0, /wait:\[[^]]*\]/) { cause = substr($0, RSTART + 6, RLENGTH - 7) }
        match($0, /pid:\[[0-9]+\]/) {
            print substr($0, RSTART + 5, RLENGTH - 6), count, blocked, queued, cause
        }'
}

# Compares a profile with what processes of e2e/targets/offcpu.c have printed: the number of waits, and how far on-CPU
# time + blocked time + run queue are from the time by the clock, in PERCENT at most: no less, and no more unless the
# process took so long to end. STOLEN: ns that other machines had the CPUs, which the scheduler takes off the time of a
# thread. Run queues have what run_delay lacks: the time between
# two run queues, and that of threads preempted on their way to sleep (sched_info_depart).
expect_truth() { # PROFILE OWN PERCENT STOLEN
    waits_of "$1" >"$TMP/waits"
    [ -s "$TMP/waits" ] || fail "there are no waits in $1"
    awk -v percent="$3" -v stolen="$4" '
        function wrong(what) { print name ": " what; bad = 1 }
        NR == FNR { n[$1] += $3 > 0 ? $2 : 0; off[$1] += $3; queue[$1] += $4; next }
        {
            name = $1; pid = $2; wall = $4; most = $7 > wall ? $7 : wall; all = off[pid] + queue[pid] + $5
            printf "%-6s %d waits of %d; sum %+.3f ms, end %.3f, stolen %.0f, run queue %+.3f ms of %.3f\n", name,
                n[pid], $3, (all - wall) / 1e6, (most - wall) / 1e6, stolen / 1e6, (queue[pid] - $6) / 1e6, $6 / 1e6
            if (n[pid] != $3) wrong("it waited " $3 " times, not " n[pid])
            if (all < (1 - percent / 100) * wall - stolen || all > (1 + percent / 100) * most)
                wrong("its times do not add up")
            if (queue[pid] < (1 - percent / 100) * $6 || queue[pid] > $6 + percent / 100 * wall)
                wrong("its time on run queues is wrong")
        }
        END { exit bad || !FNR }' "$TMP/waits" "$2" || fail "the profile and the programs differ"
}

# Time that other virtual machines had the CPUs, in ns since the start.
stolen() {
    awk -v hz="$(getconf CLK_TCK)" '$1 == "cpu" { printf "%.0f\n", $9 / hz * 1e9 }' /proc/stat
}
