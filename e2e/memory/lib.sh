# What a program prints of its allocations, compared with what a recording has of them. Sourced by cases, behind e2e/lib.sh.
# shellcheck shell=bash

# Lines PATH ALLOC_OBJECTS ALLOC_BYTES INUSE_OBJECTS INUSE_BYTES, of a profile.
seen() { # PROFILE
    GOTOOLCHAIN=local go tool pprof -symbolize=none -raw "$1" 2>/dev/null | awk '
        /^Samples:/ { getline; sub(/^ */, ""); sub(/\[dflt\]/, "")
            if ($0 !~ /^alloc_objects\/count alloc_space\/bytes inuse_objects\/count inuse_space\/bytes/) exit 1; next }
        /^Locations$/ { places = 1; next }
        /^Mappings$/ { places = 0 }
        !places && /^ *[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+:/ {
            n++; split($0, half, ":"); split(half[1], v, " "); for (i = 1; i <= 4; i++) value[n, i] = v[i]
            stack[n] = half[2]; next }
        places && /^ *[0-9]+:/ { id = $1; sub(/:/, "", id); name[id] = $0; next }
        places { name[id] = name[id] $0 } # functions that another one is inlined into
        END {
            for (s = 1; s <= n; s++) {
                k = split(stack[s], ids, " "); who = ""
                for (j = 1; j <= k; j++)
                    if (match(name[ids[j]], /path_[0-9]+/)) who = substr(name[ids[j]], RSTART, RLENGTH)
                if (who != "") { known[who]; for (i = 1; i <= 4; i++) sum[who, i] += value[s, i] }
            }
            for (who in known)
                printf "%s %.0f %.0f %.0f %.0f\n", who, sum[who, 1], sum[who, 2], sum[who, 3], sum[who, 4]
        }' | sort
}

compare() { # WHAT
    seen "$TMP/x.pb.gz" >"$TMP/seen"
    sort "$TMP/own" >"$TMP/own.sorted"
    [ -s "$TMP/own" ] || fail "$1: the program did not run"
    diff "$TMP/own.sorted" "$TMP/seen" >"$TMP/diff" || { head -n 6 "$TMP/diff" >&2; fail "$1: not what it allocated"; }
    echo "$1: equal"
}

exact() { # WHAT COMMAND...
    local what=$1
    shift
    record -e memory --memory-exact -o "$TMP/x.pb.gz" -- "$@" >"$TMP/own"
    expect '.lost | del(."stack-dump") | add' == 0
    compare "$what"
}
