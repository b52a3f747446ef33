# shellcheck shell=bash
# Reads pprof profiles; to be sourced after e2e/lib.sh.

# The samples of a pprof profile, a line each: values, frames from the leaf on with ";" between, labels; with tabs between
# these. Frames are as `go tool pprof -raw` prints them. The first line has the names of the values.
profile_rows() { # PROFILE [OPTION...]
    GOTOOLCHAIN=local go tool pprof -symbolize=none -raw "${@:2}" "$1" 2>/dev/null | awk '
        /^Samples:/ { getline; gsub(/\[dflt\]|\/[a-z]+/, ""); print; part = "samples"; next }
        /^Locations$/ { part = "locations"; next }
        /^Mappings$/ { part = "" }
        part == "samples" && /^[ 0-9-]+:/ && !/:\[/ {
            n++; split($0, half, ":"); sub(/^ +/, "", half[1]); values[n] = half[1]; stack[n] = half[2]; next }
        part == "samples" { sub(/^ +/, ""); labels[n] = labels[n] (labels[n] == "" ? "" : " ") $0 }
        part == "locations" && /^ *[0-9]+:/ { id = $1; sub(/:/, "", id); frame[id] = $0; next }
        part == "locations" { frame[id] = frame[id] $0 }
        END {
            for (i = 1; i <= n; i++) {
                k = split(stack[i], ids, " "); frames = frame[ids[1]]
                for (j = 2; j <= k; j++) frames = frames ";" frame[ids[j]]
                print values[i] "\t" frames "\t" labels[i]
            }
        }'
}

# The sums of two values of a pprof profile by a label of samples: "A B LABEL".
sums_by_label() { # PROFILE LABEL VALUE VALUE
    profile_rows "$1" | awk -F '\t' -v label="$2" -v one="$3" -v two="$4" '
        NR == 1 { n = split($0, names, " "); for (i = 1; i <= n; i++) column[names[i]] = i; next }
        match($3, label ":\\[") {
            of = substr($3, RSTART + RLENGTH); sub(/\]( [a-z]+:\[.*)?$/, "", of)
            split($1, v, " "); a[of] += v[column[one]]; b[of] += v[column[two]]
        }
        END { for (of in a) print a[of], b[of], of }'
}
