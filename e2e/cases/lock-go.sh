#!/bin/bash
# Time that goroutines wait for locks is what the program itself measures: of old and new Go, static, stripped and
# position-independent programs, launched ones and those that already run. Other processes have no probes.
set -euo pipefail
. e2e/lib.sh
need_root
need go bpftool

export GOFLAGS=-buildvcs=false GOTOOLCHAIN=local GO111MODULE=off
build() { # GO NAME [FLAG...]
    local go=$1 to=$TMP/$2
    shift 2
    "$go" build -o "$to" "$@" e2e/targets/golocks.go || fail "$go cannot build it"
}

# Compares the profile with what the program has printed, in $TMP/own.
expect_delays() { # WHAT
    local name waits ns sum before=0
    while read -r name waits ns; do
        sum=$(awk -v name="main.take${name^}" 'index($0, ";" name ";") && /;runtime\.semacquire1;\[lock[^]]*\] [0-9]+$/ { n += $NF }
            END { print n + 0 }' "$profile")
        echo "$1, $name: $waits waits, $ns ns, in the profile $sum ns"
        if [ "$name" = alone ]; then
            [ "$waits$sum" = 00 ] || fail "$1: nobody else takes the lock"
            continue
        fi
        [ "$waits" -ge 45 ] || fail "$1: $name was contended $waits times only"
        is "$sum" '>=' "0.98 * $ns" || fail "$1: $name was waited for for $ns ns, not for $sum"
        is "$sum" '<=' "1.02 * $ns" || fail "$1: $name was waited for for $ns ns, not for $sum"
        is "$sum" '>' "$before" || fail "$1: the order is wrong"
        before=$sum
    done <"$TMP/own"
    [ "$before" -gt 0 ] || fail "$1: the program has printed nothing"
    expect .lost.wait == 0
}

# A lock is called FRAME, and was waited for as often as the program says.
expect_lock() { # WHAT NAME FRAME
    local counted own
    awk -v name="main.take${2^}" -v frame="[lock: $3] " '
        index($0, ";" name ";") { all += $NF; if (index($0, ";" frame)) named += $NF }
        END { exit !(all && named == all) }' "$profile" || fail "$1: the lock of $2 is not called $3"
    own=$(awk -v name="$2" '$1 == name { print $2 }' "$TMP/own")
    counted=$(PPROF_BINARY_PATH=$TMP go tool pprof -symbolize=none -sample_index=contentions -focus="main.take${2^}\$" \
        -top "$TMP/x.pb.gz" 2>&1 | sed -n 's/^Showing nodes accounting for \([0-9]*\),.*/\1/p')
    [ "$counted" = "$own" ] || fail "$1: $2 was waited for $own times, not ${counted:-never}"
}

mkfifo "$TMP/gate" "$TMP/gate-of-other"
has_probes() {
    grep -lx 'link_type:[[:space:]]uprobe_multi' /proc/"$(pgrep -P "$recorder" -x xprof)"/fdinfo/*
}
# Pages of code with breakpoints are a process's own.
has_breakpoints() { # PID
    awk '/^[0-9a-f]+-/ { code = $2 ~ /x/ && $5 } code && $1 == "Anonymous:" { kb += $2 } END { exit !kb }' "/proc/$1/smaps"
}
run_waiting() { # PROGRAM ROUNDS GATE OUTPUT
    "$1" "$2" <"$3" >"$4" &
    program=$!
    at_exit "kill -KILL $program"
}
attached() { # WHAT PROGRAM
    local other program
    run_waiting "$2" 500 "$TMP/gate-of-other" /dev/null
    other=$program
    exec 4>"$TMP/gate-of-other"
    run_waiting "$2" 50 "$TMP/gate" "$TMP/own"
    exec 3>"$TMP/gate"
    record -e lock -p "$program" &
    recorder=$!
    at_exit "kill \$(pgrep -P $recorder) 2>/dev/null"
    await has_probes
    echo >&3
    echo >&4
    await has_breakpoints "$program"
    wait "$program"
    if has_breakpoints "$other"; then fail "$1: a process that nobody records has probes"; fi
    wait "$recorder" || fail "$1: the recording ended with $?"
    kill -KILL "$other"
    exec 3>&- 4>&-
    expect_delays "$1"
}

build go plain
record -e lock -o "$TMP/x.pb.gz" -- "$TMP/plain" 50 >"$TMP/own"
if grep -F 'no locks of Go' "$errors" >/dev/null; then skip "this kernel has no uprobe_multi links"; fi
expect_delays launched
expect_lock launched static main.staticLock
expect_lock launched heap heap
expect_lock launched write main.sharedLock
expect_lock launched read main.sharedLock
attached attached "$TMP/plain"

build go stripped -ldflags='-s -w' -buildmode=pie
record -e lock -- "$TMP/stripped" 50 >"$TMP/own"
expect_delays "stripped, launched"
attached stripped "$TMP/stripped"

old=/usr/lib/go-1.19/bin/go
[ -x $old ] || skip "there is no $old: new Go is all that was looked at"
export CGO_ENABLED=0
build $old old -ldflags='-s -w'
record -e lock -- "$TMP/old" 50 >"$TMP/own"
expect_delays "Go 1.19, launched"
attached "Go 1.19" "$TMP/old"
