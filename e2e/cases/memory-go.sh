#!/bin/bash
# What a Go program has allocated and holds is what it writes into a heap profile itself at that moment, stack by stack,
# for all four values: attached and launched, stripped, position-independent, before the first garbage collection. With
# each Go that is there: Debian's golang-1.NN, and what GOTOOLCHAIN=go1.NN.N has brought, too.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need go
need_kernel 6.6 "uprobe_multi links"

# The functions of each stack, from the leaf on, and its values.
stacks() { # PROFILE
    GOTOOLCHAIN=local go tool pprof -symbolize=none -raw "$1" 2>/dev/null | awk '
        /^Samples:/ { samples = 1; next }
        /^Locations$/ { samples = 0; places = 1; next }
        /^Mappings$/ { places = 0 }
        samples && /\/(count|bytes)/ { for (i = 1; i <= NF; i++) { split($i, label, /[\/\[]/); column[label[1]] = i } next }
        samples && /^ *[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+:/ {
            split($0, half, ":"); n++; values[n] = half[1]; stack[n] = half[2]; next }
        places { line = $0; sub(/ ?\([a-z].*$/, "", line); sub(/ [^ ]*:[0-9]+:[0-9]+( s=[0-9]+)?$/, "", line) }
        places && /^ *[0-9]+:/ { id = $1; sub(/:/, "", id); sub(/^ *[0-9]+: 0x[0-9a-f]+ (M=[0-9]+ )?/, "", line); name[id] = line; next }
        places && NF { sub(/^ */, "", line); name[id] = name[id] ";" line }
        END {
            for (i = 1; i <= n; i++) {
                k = split(stack[i], ids, " "); text = ""
                for (j = 1; j <= k; j++) text = text ";" name[ids[j]]
                gsub(/\[[^;]*\]/, "[...]", text) # types of generic functions, which Go itself leaves out
                split(values[i], v, " ")
                a[text] += v[column["alloc_objects"]]; b[text] += v[column["alloc_space"]]
                c[text] += v[column["inuse_objects"]]; d[text] += v[column["inuse_space"]]
            }
            for (t in a)
                if (t !~ /;runtime\/pprof\./ && a[t] + b[t] + c[t] + d[t]) # those are made while it says so
                    print a[t], b[t], c[t], d[t], t
        }' | sort -k5
}

same() { # WHAT: $TMP/own.pb.gz, $TMP/x.pb.gz
    stacks "$TMP/own.pb.gz" >"$TMP/own"
    stacks "$TMP/x.pb.gz" >"$TMP/seen"
    [ "$(wc -l <"$TMP/own")" -ge 6 ] || fail "$1: the program has only $(wc -l <"$TMP/own") stacks"
    diff "$TMP/own" "$TMP/seen" >"$TMP/diff" || {
        sed 's/^/stack: /; 20q' "$TMP/diff" >&2
        fail "$1: not what the program says"
    }
    echo "$1: $(wc -l <"$TMP/own") stacks, $(awk '{ n += $4 } END { print n }' "$TMP/own") bytes in use"
}

attached() { # WHAT PROGRAM [ENV=...]
    local what=$1 program=$2
    shift 2
    env "$@" "$program" "$TMP/own.pb.gz" 60 >"$TMP/out" &
    local pid=$!
    at_exit "kill $pid 2>/dev/null || true"
    for _ in $(seq 100); do
        grep -q ready "$TMP/out" && break
        sleep 0.1
    done
    record -e memory -p $pid -d 2s -o "$TMP/x.pb.gz"
    kill $pid
    same "$what"
}

export GOFLAGS=-buildvcs=false GOTOOLCHAIN=local GO111MODULE=off
build() { # GO NAME [FLAG...]
    local go=$1 to=$TMP/$2
    shift 2
    "$go" build -o "$to" "$@" e2e/targets/goheap.go || fail "$go cannot build it"
}

build go plain
attached attached "$TMP/plain"
attached "attached, every block" "$TMP/plain" GODEBUG=memprofilerate=1
record -e memory -o "$TMP/x.pb.gz" -- "$TMP/plain" "$TMP/own.pb.gz" 2 >/dev/null
same launched
GOGC=off record -e memory -o "$TMP/x.pb.gz" -- "$TMP/plain" "$TMP/own.pb.gz" 2 late >/dev/null
same "launched, no garbage collection"
build go stripped -ldflags "-s -w"
attached stripped "$TMP/stripped"
build go pie -buildmode=pie -ldflags "-s -w"
attached position-independent "$TMP/pie"

oldest=
for old in $(compgen -G "/usr/lib/go-*/bin/go") $(compgen -G "$(go env GOMODCACHE)/golang.org/toolchain@*/bin/go"); do
    version=$("$old" env GOVERSION)
    build "$old" old
    attached "$version" "$TMP/old"
    build "$old" old -ldflags "-s -w"
    attached "$version, stripped" "$TMP/old"
    oldest+=" $version"
done
[ -n "$oldest" ] || skip "there is no older Go: new Go is all that was looked at"
