# shellcheck shell=bash disable=SC2154,SC2034
# Builds what bench/peers.sh needs. Sourced; needs $tmp.

OTEL=$(awk '$1 == "go.opentelemetry.io/ebpf-profiler" { print $2 }' bench/peers/go.mod)
LIGHTSWITCH=0.7.0
cache=${XDG_CACHE_HOME:-$HOME/.cache}/xprof/peers
otel=$cache/otel-$OTEL-$(cat bench/peers/go.* bench/peers/otlprecv/*.go | sha256sum | cut -c1-8)
lightswitch=$cache/lightswitch-$LIGHTSWITCH

# Runs a builder for a folder of the cache, once. When it fails, the last line of its log is the reason.
built() { # FOLDER BUILDER
    [ ! -e "$1/done" ] || return 0
    if [ ! -e "$1/failed" ]; then
        echo "peers: building $(basename "$1"), which takes minutes, once" >&2
        mkdir -p "$1"
        "$2" "$1" >"$1/log" 2>&1 && touch "$1/done" && return 0
        tail -n 1 "$1/log" | tr , ';' >"$1/failed"
    fi
    echo "$(basename "$1"), skip: does not build: $(cat "$1/failed") (remove $1 to try again)"
    return 1
}

needs() { # COMMAND...
    local command
    for command; do
        command -v "$command" >/dev/null || { echo "$command is not installed" && return 1; }
    done
}

build_otel() {
    needs go || return 1
    go build -C bench/peers -o "$1/ebpf-profiler" go.opentelemetry.io/ebpf-profiler &&
        go build -C bench/peers -o "$1/otlprecv" ./otlprecv
}

build_lightswitch() {
    needs cargo clang pkg-config protoc go || return 1
    LIBBPF_SYS_LIBRARY_PATH=/usr/lib/$(gcc -print-multiarch) CARGO_TARGET_DIR=$tmp/target timeout 2400 nice \
        cargo install --locked --version $LIGHTSWITCH --root "$1" lightswitch
}

build_helpers() {
    local flags=(-D_GNU_SOURCE -O2 -Wall)
    gcc "${flags[@]}" -o "$tmp/nomemlock" bench/peers/nomemlock.c
    gcc "${flags[@]}" -shared -fPIC -o "$tmp/procmodules.so" bench/peers/procmodules.c
    gcc "${flags[@]}" -o "$tmp/short-c" bench/peers/short.c
    gcc -E -D_GNU_SOURCE -Iagent -I. agent/profile/collapsed.c -o "$tmp/short.i"
    ln -s "$(gcc -print-prog-name=cc1)" "$tmp/short-cc1"
    ln -s short-c "$tmp/warm-c"
    ln -s short-cc1 "$tmp/warm-cc1"
    awk '$3 == "_stext" { print "kernel 4096 0 - Live 0x" $1 }' /proc/kallsyms >"$tmp/modules"
}
