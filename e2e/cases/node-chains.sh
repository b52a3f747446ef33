#!/bin/bash
# Node.js: known chains of calls have exactly their functions and lines in place of V8's code, launched and attached to,
# in versions from 16 on: functions of all kinds, callbacks of builtins, generators, async functions, text that is
# evaluated, modules, and a worker; interpreted, compiled, and compiled and optimised.
# beside others
set -euo pipefail
. e2e/lib.sh
. e2e/node/lib.sh
need_root
need python3 go

BUSY=25 # ms per chain
# Of optimised code, some may be wrong: where code that is no longer valid was to return to is not known.

check() { # WHAT OPTION...
    echo -n "$1: "
    python3 e2e/node/chains.py "$TMP/x.pb.gz" "$TMP/own" --few 1 "${@:2}" ||
        fail "$1: the chains are not as the program has them"
    expect '.lost["ring-full"] + .lost.scratch + .lost["stack-memory"] + .lost.malformed' == 0
}

# What a way to run needs: options of node in $flags, how many steps a leaf takes in $work, what must hold in $demands.
way() { # interpreted|jitless|baseline|optimised
    local maglev='' lines=exact
    [ "$version" -lt 20 ] || maglev=--no-maglev
    [ "$version" != 16 ] || lines=none # of baseline code they are not known
    [[ $1 != optimised || $version -lt 24 ]] || lines=none # Maglev does not note the places of all calls
    case $1 in
    interpreted) flags="--no-opt --no-sparkplug $maglev" work=500 demands="--lines exact" ;;
    jitless) flags="--jitless $maglev" work=500 demands="--lines exact" ;;
    baseline) flags="--always-sparkplug --no-opt $maglev" work=2000 demands="--lines $lines" ;;
    optimised) flags="" work=5000 demands="--lines $lines --builtins missing --wrong 4" ;;
    esac
}

launched() { # WAY
    way "$1"
    # shellcheck disable=SC2086
    record -F 499 -o "$TMP/x.pb.gz" -- "$node" $flags e2e/node/chains_target.js $BUSY $work >"$TMP/own"
    # shellcheck disable=SC2086
    check "$version launched, $1" $demands
}

# It runs for a while already.
attached() { # WAY
    way "$1"
    : >"$TMP/own" # what an earlier one said is gone before this one begins
    # shellcheck disable=SC2086
    "$node" $flags e2e/node/chains_target.js $BUSY $work >"$TMP/own" &
    local pid=$!
    at_exit "kill -KILL $pid"
    await grep -q leaf_getter "$TMP/own"
    record_in_background -F 499 -o "$TMP/x.pb.gz" -p $pid
    wait "$recorder"
    # shellcheck disable=SC2086
    check "$version attached, $1" $demands --few 0
}

CACHE=$TMP/cache
find_nodes
for node in "${nodes[@]}"; do
    version=$(node_version "$node")
    record -- "$node" -e 0 2>/dev/null # so that unwind tables are there
    launched interpreted
    launched optimised
    case $version in
    16) launched baseline ;;
    18) launched jitless ;;
    20) attached interpreted ;;
    22) launched baseline ;;
    24) launched baseline ;;
    26) launched baseline && attached optimised ;;
    esac
done
