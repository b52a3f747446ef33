# shellcheck shell=bash disable=SC2154,SC2034
# What cases that talk to a real Pyroscope share. To be sourced after e2e/lib.sh.

need curl jq
here=e2e/pyroscope
send=${EXPORT_SEND:-${XPROF%/*}/export-send}
[ -x "$send" ] || fail "$send is not built"
cpu=process_cpu:cpu:nanoseconds:cpu:nanoseconds

need_server() {
    $here/get.sh --find >/dev/null 2>&1 || skip "Pyroscope is not built: e2e/pyroscope/get.sh"
}

start_server() { # v1|v2 [FLAG...]: at $url, in $TMP/server, to be ended at the end
    local storage=$1
    shift
    $here/start.sh "$storage" "$TMP/server" "$port" "$@" 8>&- || fail "Pyroscope does not start"
    url=http://127.0.0.1:$port
    server_pid=$(cat "$TMP/server/pid")
    at_exit "kill -KILL $server_pid"
}

# A profile as xprof makes them, of a program with known functions: $TMP/x.pb.gz.
record_profile() {
    need_root
    OUT=busy build_target layout -fno-omit-frame-pointer
    "$XPROF" record --no-cache -F 997 -o "$TMP/x.pb.gz" -- "$TMP/busy" 300 2>"$errors" || fail "nothing was recorded"
}

# export-send in the background, $sender, that takes commands from say() and answers in $TMP/sent.
start_sender() { # ARGUMENT...
    rm -f "$TMP/in"
    mkfifo "$TMP/in"
    "$send" "$@" <"$TMP/in" >>"$TMP/sent" 2>>"$errors" &
    sender=$!
    at_exit "kill -KILL $sender"
    exec 8>"$TMP/in"
}

say() { # COMMAND WORD...
    echo "$*" >&8
}

# Waits until the sender has done all that was said.
settled() {
    marks=$((${marks:-0} + 1))
    say mark $marks
    await grep -q "^mark $marks\$" "$TMP/sent"
}

end_sender() {
    exec 8>&-
    wait "$sender"
}

# Waits until a figure of target I is that, by asking for it again and again.
await_stat() { # I JQ_CONDITION
    local i
    for ((i = 0; i < 300; i++)); do
        say stats
        settled
        if [ "$(stat_of "$1" "$2")" = true ]; then return 0; fi
        sleep 0.1
    done
    tail -n 5 "$TMP/sent" >&2
    fail "this did not come true of target $1: $2"
}

# Total of the samples below that path of functions, root first, in nanoseconds; 0 when it is not there.
nanoseconds() { # TYPE SELECTOR [FUNCTION]
    local now
    now=$(date +%s%3N)
    curl -s -H 'Content-Type: application/json' ${tenant:+-H "X-Scope-OrgID: $tenant"} \
        "$url/querier.v1.QuerierService/SelectMergeStacktraces" \
        -d "$(jq -n --arg t "$1" --arg s "$2" --argjson now "$now" '{profileTypeID: $t, labelSelector: $s,
            start: ($now - 7200000), end: ($now + 600000)}')" >"$TMP/flame"
    jq -r --arg f "${3:-total}" '.flamegraph as $g | ($g.names | index($f)) as $i |
        if $i == null then 0 else [$g.levels[].values | map(tonumber) | [range(0; length; 4) as $k | .[$k:$k + 4]]
        | .[] | select(.[3] == $i) | .[1]] | add // 0 end' "$TMP/flame"
}

has_nanoseconds() { # TYPE SELECTOR FUNCTION
    [ "$(nanoseconds "$@")" -gt 0 ]
}

label_values() { # NAME: a line each
    local now
    now=$(date +%s%3N)
    curl -s -H 'Content-Type: application/json' ${tenant:+-H "X-Scope-OrgID: $tenant"} \
        "$url/querier.v1.QuerierService/LabelValues" \
        -d "{\"name\":\"$1\",\"start\":$((now - 7200000)),\"end\":$((now + 600000))}" | jq -r '.names[]?'
}

# What export-send said last of target I: a JSON path.
stat_of() { # I JQ_PATH [LOG]
    grep '^{"target"' "${3:-$TMP/sent}" | jq -rs "map(select(.target == $1)) | last | $2"
}

expect_stat() { # I JQ_PATH VALUE [LOG]
    local have
    have=$(stat_of "$1" "$2" "${4:-}")
    [ "$have" = "$3" ] || {
        cat "${4:-$TMP/sent}" >&2
        fail "$2 of target $1 is $have, not $3"
    }
}
