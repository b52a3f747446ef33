#!/bin/bash
# Time waiting for locks is what the threads themselves measure, for each lock: of programs that are launched or already
# run, with glibc, musl and Rust (std and parking_lot).
set -euo pipefail
. e2e/lib.sh
need_root
need bpftool go jq

# Compares the profile with what the program has printed, in $TMP/own.
expect_delays() { # WHAT
    local name waits ns queued sum before=0
    while read -r name waits ns queued; do
        sum=$(awk -v name="$name" 'index($0, ";take_" name ";") && /\[lock[^]]*\] [0-9]+$/ { n += $NF } END { print n + 0 }' "$profile")
        echo "$1, $name: $waits waits, $ns ns${queued:+, of it at most $queued waiting for a CPU}, in the profile $sum ns"
        if [ "$name" = alone ]; then
            [ "$waits$sum" = 00 ] || fail "$1: nobody else takes the lock"
            continue
        fi
        [ "$waits" -ge 45 ] || fail "$1: $name was contended $waits times only"
        is "$sum" '>=' "0.98 * ($ns - ${queued:-0})" || fail "$1: $name was waited for for $ns ns, not for $sum"
        is "$sum" '<=' "1.02 * $ns" || fail "$1: $name was waited for for $ns ns, not for $sum"
        is "$sum" '>' "$before" || fail "$1: the order is wrong"
        before=$sum
    done <"$TMP/own"
    expect .lost.wait == 0
}

launched() { # WHAT PROGRAM
    record -e lock -- "$2" 50 >"$TMP/own"
    expect_delays "$1"
}

# The labels of samples of NAME, by `go tool pprof`, in $TMP/tags.
read_labels() { # NAME
    GOTOOLCHAIN=local PPROF_BINARY_PATH=$TMP go tool pprof -symbolize=none -sample_index=delay -unit=ms \
        -focus="^take_$1\$" -tags "$TMP/x.pb.gz" >"$TMP/tags" 2>&1 || fail "$(cat "$TMP/tags")"
}

# The thread that held the lock of NAME is called that, too.
expect_holder() { # NAME
    read_labels "$1"
    awk -v name="$1" '/^ *holder:/ { on = 1; next } /^$/ { on = 0 } on && $NF == name { found = 1 }
        END { exit !found }' "$TMP/tags" || fail "nobody says that $1 held its lock"
}

# What a lock is called, in the frame and the label, and who held it.
expect_names() { # STATIC LIBRARY
    local name frame label
    while read -r name frame label; do
        expect_frame "$name" "$frame"
        read_labels "$name"
        awk -v label="$label" '/^ *lock:/ { on = 1; next } /^$/ { on = 0 } on { sub(/.*: /, ""); if (index($0, label) == 1) found = 1 }
            END { exit !found }' "$TMP/tags" || fail "the label of the lock of $name does not begin with $label"
        expect_holder "$name"
    done <<EOF
static $1 ${1%%+*}
library $2 ${2%%+*}
heap heap heap
EOF
}

# NAME of the profile is called FRAME.
expect_frame() { # NAME FRAME
    awk -v name="$1" -v frame="[lock: $2]" '
        index($0, ";take_" name ";") { all += $NF; if (index($0, ";" frame " ")) named += $NF }
        END { exit !(all && named > 0.99 * all) }' "$profile" || fail "the lock of $1 is not called $2"
}

mkfifo "$TMP/gate"
attached() { # WHAT PROGRAM
    "$2" 50 <"$TMP/gate" >"$TMP/own" &
    local program=$!
    exec 3>"$TMP/gate"
    at_exit "kill -KILL $program"
    record -e lock -p $program &
    recorder=$!
    at_exit "kill \$(pgrep -P $recorder) 2>/dev/null"
    await follows_waits
    echo >&3
    wait "$recorder" || fail "$1: the recording ended with $?"
    expect_delays "$1"
}

OUT=liblocks.so build_target locks_library -shared -fPIC
build_target locks -pthread -L"$TMP" -llocks -Wl,-rpath,"$TMP"
launched glibc "$TMP/locks"
attached glibc "$TMP/locks"

# A wait that goes on, and began before the recording: it counts from there.
"$TMP/locks" stuck &
stuck=$!
at_exit "kill -KILL $stuck"
is_stuck() {
    grep -q futex "/proc/$stuck/wchan"
}
await is_stuck
for target in "-p $stuck" -a; do
    # shellcheck disable=SC2086
    record -e lock -d 2s $target
    ns=$(awk '/^locks;.*;take_static;.*\[lock[^]]*\] [0-9]+$/ { n += $NF } END { print n + 0 }' "$profile")
    is "$ns" '>=' 1950000000 || fail "$target: it waited for $ns ns, not for 2 s"
    is "$ns" '<=' 2300000000 || fail "$target: it waited for $ns ns, not for 2 s"
done

# One with a timeout goes on in another system call when the process was stopped.
"$TMP/locks" stuck-timed &
stuck=$!
at_exit "kill -KILL $stuck"
await is_stuck
kill -STOP $stuck
await grep -q '^State:.T' /proc/$stuck/status
kill -CONT $stuck
await is_stuck
record -e lock -d 1s -p $stuck
ns=$(awk '/^locks;.*;take_timed;.*\[lock: in_bss[^]]*\] [0-9]+$/ { n += $NF } END { print n + 0 }' "$profile")
is "$ns" '>=' 950000000 || fail "after a stop, it waited for $ns ns, not for 1 s"

# Beside offcpu and runqueue, waits for locks have rows of their own.
record -e lock,offcpu,runqueue -o "$TMP/x.pb.gz" -- "$TMP/locks" 50 >"$TMP/own"
expect_delays "beside others"
expect_names in_bss+0x2000 locks_in_library

if command -v musl-gcc >/dev/null; then
    OUT=locks-musl CC=musl-gcc build_target locks -static -pthread -g e2e/targets/locks_library.c
    launched musl "$TMP/locks-musl"
    attached musl "$TMP/locks-musl"
    record -e lock -o "$TMP/x.pb.gz" -- "$TMP/locks-musl" 50 >"$TMP/own"
    expect_holder heap # a robust mutex; normal ones of musl don't say it
else
    echo "there is no musl-gcc: musl is not tested"
fi
if command -v rustc >/dev/null; then
    rustc --edition 2021 -O -g -o "$TMP/locks-rust" e2e/targets/locks-rust.rs
    launched Rust "$TMP/locks-rust"
    expect_frame static locks_rust::OWN
    attached Rust "$TMP/locks-rust"
else
    echo "there is no rustc: Rust is not tested"
fi

# The crate is kept where cargo keeps it: the network is needed once.
build_parking() {
    mkdir "$TMP/parking"
    cat >"$TMP/parking/Cargo.toml" <<EOF
[package]
name = "locks_parking"
version = "0.0.0"
edition = "2021"
[dependencies]
parking_lot = "=0.12.5"
[[bin]]
name = "locks_parking"
path = "$PWD/e2e/targets/locks-rust.rs"
[profile.release]
debug = true
EOF
    export CARGO_TARGET_DIR=$TMP/parking/target RUSTFLAGS='--cfg parking_lot'
    cargo build -q --release --offline --manifest-path "$TMP/parking/Cargo.toml" 2>/dev/null ||
        timeout 60 cargo build -q --release --manifest-path "$TMP/parking/Cargo.toml"
}
if command -v cargo >/dev/null && build_parking; then
    for how in launched attached; do
        $how parking_lot "$TMP/parking/target/release/locks_parking"
        expect_frame static locks_parking::OWN
        expect_frame heap heap
    done
else
    echo "there is no cargo, or no crate: parking_lot is not tested"
fi
