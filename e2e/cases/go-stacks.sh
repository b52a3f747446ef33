#!/bin/bash
# Go's stacks are those that runtime/pprof unwinds at the same instants, in programs of new and old Go, with and without C.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need go python3 jq

objects=$(dirname "$XPROF")
[ -d "$objects/agent" ] || skip "what $XPROF was built from is not beside it"
unset MAKEFLAGS MAKELEVEL
make -s -f e2e/go/signal.mk B="$objects" signal || fail "the oracle cannot be built"
oracle=$objects/e2e/go XPROF=$objects/e2e/go/xprof

build() { # GO NAME CGO [FLAG...]
    local go=$1 name=$2 cgo=$3
    shift 3
    (cd e2e/targets/gostacks && CGO_ENABLED=$cgo GOTOOLCHAIN=local GOFLAGS=-buildvcs=false GOROOT='' \
        "$go" build -ldflags "-s -w" -o "$TMP/$name" "$@" .) || fail "$go cannot build $name"
    "$oracle/wrappers" "$TMP/$name" >"$TMP/$name.wrappers"
}

# The program does not begin before its tables are there and samples are taken.
measure() { # NAME WORK SECONDS: how many stacks there are, and how many of them are equal, in $n and $same; complete: %
    local name=$1 work=$2 target
    rm -f "$TMP/start"
    START=$TMP/start RATE=500 "$TMP/$name" "$work" "$3" "$TMP/profile" 2>/dev/null &
    target=$!
    at_exit "kill $target"
    record_in_background -p "$target" -o "$TMP/x.pb.gz"
    touch "$TMP/start"
    wait "$target" || fail "$name $work failed"
    wait "$recorder" || fail "no recording of $name $work"
    go tool pprof -raw "$TMP/profile" >"$TMP/theirs" 2>/dev/null
    go tool pprof -raw "$TMP/x.pb.gz" >"$TMP/ours" 2>/dev/null
    python3 e2e/go/compare.py "$TMP/theirs" "$TMP/ours" "$TMP/$name.wrappers" 5 >"$TMP/equal" 2>"$TMP/differ"
    read -r n same <"$TMP/equal"
    complete=$(jq -r 'if .user_samples == 0 then 0 else 100 * .complete / .user_samples end' "$summary")
    echo "$name $work: $(awk "BEGIN { printf \"%.2f %% of %d stacks are equal, %.2f %% complete\", 100 * $same / ($n + !$n), $n, $complete }")"
}

# A few hundred stacks may have bad luck: several times as many decide.
compare() { # NAME WORK COMPLETE EQUAL: percent
    measure "$1" "$2" 1.5
    if [ "$n" -lt 100 ] || ! is "100 * $same" '>=' "$4 * $n" || ! is "$complete" '>=' "$3"; then measure "$1" "$2" 6; fi
    [ "$n" -ge 100 ] || fail "only $n samples"
    is "100 * $same" '>=' "$4 * $n" || { cut -c1-300 "$TMP/differ" && fail "fewer than $4 % are equal"; }
    is "$complete" '>=' "$3" || fail "only $complete % are complete, not $3 %"
}

old=/usr/lib/go-1.19/bin/go # Debian's golang-1.19-go
for go in go "$old"; do
    [ "$go" = go ] || [ -x "$go" ] || { echo "there is no $old" && continue; }
    version=$(GOTOOLCHAIN=local GOROOT='' "$go" env GOVERSION)
    build "$go" "$version" 0
    build "$go" "$version-cgo" 1 -buildmode=pie
    for work in cpu gc grow http crypto syscall panic preempt; do
        compare "$version" $work 98.5 98
    done
    compare "$version-cgo" cgo 98.5 95
done
