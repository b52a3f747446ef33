# shellcheck shell=bash disable=SC2034,SC2154
# What cases with a running `xprof agent` share. To be sourced after e2e/lib.sh.

need curl jq
out=$TMP/profiles # with start_agent
state=$TMP/state # the spool
free_ports
page=http://127.0.0.1:$port

# In the background, ready: $agent_pid. Its messages are in $errors. INTERVAL is 1 s unless it is set.
start_agent() { # OPTION...
    "$XPROF" agent --output-dir "$out" --state-dir "$state" --cache-dir "$TMP/cache" --interval "${INTERVAL:-1s}" \
        --listen "127.0.0.1:$port" --exclusive=off --cri-socket none "$@" >"$TMP/agent" 2>"$errors" &
    agent_pid=$!
    at_exit "kill -KILL $agent_pid"
    await curl -sf "$page/readyz"
}

# By SIGTERM: it flushes, and ends with STATUS (0).
end_agent() { # [STATUS]
    local rc=0
    kill -TERM "$agent_pid"
    wait "$agent_pid" || rc=$?
    [ "$rc" = "${1:-0}" ] || fail "the agent ended with $rc"
}

# In KiB, with its children's: VmRSS, now; VmHWM, the most that each of them has had.
memory_of_agent() { # FIELD
    local pid sum=0 kib
    for pid in $agent_pid $(pgrep -P "$agent_pid"); do
        kib=$(awk -v field="$1:" '$1 == field { print $2 }' "/proc/$pid/status" 2>/dev/null) || true
        sum=$((sum + ${kib:-0}))
    done
    echo $sum
}

cpu_of_agent() { # in ms, its children's included
    local pid
    for pid in $agent_pid $(pgrep -P "$agent_pid"); do cat "/proc/$pid/stat"; done 2>/dev/null |
        awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); n += $12 + $13 + $14 + $15 } END { print int(n * 1000 / hz) }'
}

metric() { # NAME [LABELS_REGEX]: the sum; fails without the page or the metric
    local text
    text=$(curl -sf "$page/metrics") || fail "there is no page $page/metrics"
    sum_of_metric "$@" <<<"$text"
}

# All profiles of a folder below $out, one after the other, as pprof's raw text.
profiles_of() { # FOLDER
    local f
    for f in "$out/$1"/*.pb.gz; do
        [ -e "$f" ] || return 0
        go tool pprof -raw -symbolize=none "$f" 2>/dev/null
    done
}

has_profiles() { # FOLDER
    compgen -G "$out/$1/*.pb.gz" >/dev/null
}

# Is a function in the profiles of a folder?
has_function() { # FOLDER NAME
    profiles_of "$1" | grep -- "$2" >/dev/null # not -q: who still writes would end by a signal
}

# Of all profiles of a folder: SAMPLES NANOSECONDS WITH CUT: WITH have a function of this name in their stack, CUT are cut.
tally() { # FOLDER [NAME]
    profiles_of "$1" | awk -v name="${2:-}" '
        function count(  i, j, n, ids, is_with, is_cut) {
            for (i in locations) {
                n = split(locations[i], ids, " ")
                is_with = is_cut = 0
                for (j = 1; j <= n; j++) { is_with = is_with || ids[j] in has; is_cut = is_cut || ids[j] in cut }
                with += is_with * weight[i]
                cuts += is_cut * weight[i]
                all += weight[i]
            }
            split("", locations); split("", has); split("", cut)
        }
        /^Samples:/ { count(); part = "samples"; next }
        /^Locations/ { part = "locations"; next }
        /^Mappings/ { part = "" }
        part == "samples" && /^ *[0-9]+ +[0-9]+:/ { weight[++k] = $1; ns += $2; sub(/^[^:]*:/, ""); locations[k] = $0 }
        part == "locations" {
            if ($1 ~ /^[0-9]+:$/) id = $1 + 0
            for (i = 1; i <= NF; i++) if ($i == name) has[id] = 1
            if (/cut:/) cut[id] = 1
        }
        END { count(); printf "%d %.0f %d %d\n", all, ns, with, cuts }'
}

# How many percent of the samples in all profiles of a folder have a function of this name in their stack.
percent_with() { # FOLDER NAME
    local all ns with cut
    read -r all ns with cut <<<"$(tally "$1" "$2")"
    echo $((all ? 100 * with / all : 0))
}

# A program with COUNT unwind rules that no other one has; the CFA of its only frame is right.
build_rules() { # NAME FIRST COUNT
    awk -v first="$2" -v n="$3" 'BEGIN {
        print ".text\n.globl main\nmain: .cfi_startproc\n1: dec %rcx\njmp 1b\n.cfi_endproc\nrules: .cfi_startproc"
        for (i = 0; i < n; i++)
            printf "nop\n.cfi_def_cfa_offset %d\n", 8 * (first + i)
        print "ret\n.cfi_endproc" }' | gcc -no-pie -x assembler - -o "$TMP/$1" -Wl,-z,noexecstack
}

# A container without runtime: a cgroup whose path says that it is one. `contained COMMAND...` runs in it.
make_container() { # ID_OF_64_HEX_DIGITS
    local root group
    groups=()
    for root in /sys/fs/cgroup /sys/fs/cgroup/*; do
        [ -e "$root/cgroup.procs" ] || continue
        group=$root/xprof-e2e-$$
        mkdir -p "$group/docker/$1"
        at_exit "rmdir --ignore-fail-on-non-empty $group/docker $group" # once the last container has gone
        at_exit "for i in {1..50}; do rmdir $group/docker/$1 && break || sleep 0.1; done"
        groups+=("$group/docker/$1/cgroup.procs")
    done
}

contained() { # COMMAND...
    # shellcheck disable=SC2016
    exec bash -c 'n=$1; shift; for ((i = 0; i < n; i++)); do echo $$ >"$1"; shift; done 2>/dev/null; exec "$@"' - \
        ${#groups[@]} "${groups[@]}" "$@"
}

# The first process of a name, which may be a pattern, in the container that was made last: $inside_pid.
runs_inside() { # NAME
    while read -r inside_pid; do
        # shellcheck disable=SC2053
        [[ "$(cat "/proc/$inside_pid/comm")" != $1 ]] || return 0
    done <"${groups[-1]}"
    return 1
}

# A container in namespaces of its own, when a process of this NAME runs there; e2e/agent/inside.sh gets the rest.
start_inside() { # TWO_HEX_DIGITS NAME FILE... -- COMMAND...
    make_container "$(printf "$1%.0s" {1..32})"
    (contained unshare -m --propagation private -p -f --mount-proc e2e/agent/inside.sh "${@:3}") >"$TMP/$1" 2>&1 &
    await runs_inside "$2"
    at_exit "kill -KILL $inside_pid; wait $!"
}

# In the first two intervals there are stacks with the function, and in all of them most have it, and few are cut.
expect_inside() { # FOLDER WHAT FUNCTION PERCENT
    local first all with cut
    await has_function "$1" "$3"
    sleep 3
    first=$(compgen -G "$out/$1/*.pb.gz" | sort | head -n 2)
    # shellcheck disable=SC2086
    go tool pprof -raw -symbolize=none $first 2>/dev/null | grep -F " $3 " >/dev/null ||
        fail "$2: $3 is not in the first two intervals"
    read -r all _ with cut <<<"$(tally "$1" "$3")"
    echo "$2: $all samples, $with of them in $3, $cut cut"
    is "$with" '>=' "$4 * $all / 100" || fail "$2: only $with of $all samples have the chain"
    is "$cut" '<=' "0.02 * $all" || fail "$2: $cut of $all stacks are cut"
}

# An agent shows FUNCTION in two containers: of a process of this NAME that runs when the agent starts, and of one that
# starts later. What start_inside runs is in the arrays $before and $after. Each has its least PERCENT. SETTLE: seconds
# before anything is expected.
shows_inside() { # NAME FUNCTION PERCENT_BEFORE PERCENT_AFTER WHAT_AFTER
    INTERVAL=2s
    start_inside ab "$1" "${before[@]}"
    start_agent --host-processes off --rate 199 --max-rate 199 --max-cpu 100
    start_inside cd "$1" "${after[@]}"
    sleep "${SETTLE:-0}"
    expect_inside host/abababababab 'before the agent' "$2" "$3"
    expect_inside host/cdcdcdcdcdcd "$5" "$2" "$4"
}

# The agent knows so many processes with a runtime, has counted more frames than FRAMES, and has nothing to say about them.
ends_silent() { # OPERATOR PROCESSES FRAMES LANGUAGE_REGEX
    local known frames
    known=$(metric xprof_runtime_processes)
    is "$known" "$1" "$2" || fail "the agent knows $known processes with a runtime, not $1 $2"
    frames=$(metric xprof_runtime_frames_total 'outcome="ok"')
    is "$frames" '>' "$3" || fail "$frames frames are counted, not more than $3"
    end_agent
    if grep -iE "$4" "$errors"; then fail "the agent has to say something about $4"; fi
}
